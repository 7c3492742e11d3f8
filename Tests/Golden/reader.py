#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Reads a database file using only Documentation/FORMAT.md, checks its tags, trees and laws, and writes its content as
# JSON. Uses the standard library only; AES-GCM and XXH3 are implemented below. Slow on purpose: it is an independent
# check of the format, not a tool.
# usage: reader.py FILE.realm [--key HEXDIGITS] [--equals FILE.json]
import argparse
import functools
import hashlib
import hmac
import json
import struct
import sys

PAGE = 4096
M64, M32 = (1 << 64) - 1, (1 << 32) - 1
TYPES = [None, 'bool', 'int', 'float', 'double', 'string', 'data', 'date', 'objectID', 'uuid', 'link', 'decimal128',
         'mixed']
COLLECTIONS = ['none', 'list', 'set', 'dictionary']
RULES = ['nullify', 'cascade', 'deny']
# A history concerns older versions only.
FEATURES = {'unique', 'delete rules', 'content indexes', 'history'}
CATALOG, SCHEMA, FREE_LOG, _, NODE, GROUP, BLOB, LEAF, BRANCH, ELEMENTS = range(1, 11)


class Damage(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Damage(what)


def number(data, at, size):
    need(0 <= at and at + size <= len(data), 'a number lies outside of its block')
    return int.from_bytes(data[at:at + size], 'little')


def signed(value, bits=64):
    return value - (1 << bits) if value >> (bits - 1) else value


# MARK: XXH3-128 of more than 240 bytes

SECRET = [
    0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de, 0x1f67b3b7a4a44072, 0x78e5c0cc4ee679cb,
    0x2172ffcc7dd05a82, 0x8e2443f7744608b8, 0x4c263a81e69035e0, 0xcb00c391bb52283c, 0xa32e531b8b65d088,
    0x4ef90da297486471, 0xd8acdea946ef1938, 0x3f349ce33f76faa8, 0x1d4f0bc7c7bbdcf9, 0x3159b4cd4be0518a,
    0x647378d9c97e9fc8, 0xc3ebd33483acc5ea, 0xeb6313faffa081c5, 0x49daf0b751dd0d17, 0x9e68d429265516d3,
    0xfca1477d58be162b, 0xce31d07ad1b8f88f, 0x280416958f3acb45, 0x7e404bbbcafbd7af]
P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def xxh3(data, seed):
    """The tag of some bytes: low word, high word."""
    secret = b''.join(
        struct.pack('<QQ', (SECRET[i] + seed[0]) & M64, (SECRET[i + 1] - seed[1]) & M64) for i in range(0, 24, 2))
    acc = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]
    keys = [struct.unpack_from('<8Q', secret, 8 * i) for i in range(17)]

    def accumulate(at, key):
        words = struct.unpack_from('<8Q', data, at)
        for i in range(8):
            mixed = words[i] ^ key[i]
            acc[i ^ 1] += words[i]
            acc[i] += (mixed & 0xffffffff) * (mixed >> 32)
        for i in range(8):
            acc[i] &= M64

    blocks = (len(data) - 1) // 1024
    for block in range(blocks):
        for stripe in range(16):
            accumulate(block * 1024 + stripe * 64, keys[stripe])
        for i in range(8):
            acc[i] = ((acc[i] ^ acc[i] >> 47 ^ keys[16][i]) * P32[0]) & M64
    for stripe in range((len(data) - 1 - blocks * 1024) // 64):
        accumulate(blocks * 1024 + stripe * 64, keys[stripe])
    accumulate(len(data) - 64, struct.unpack_from('<8Q', secret, 121))

    def merge(start, at):
        result = start
        words = struct.unpack_from('<8Q', secret, at)
        for i in range(0, 8, 2):
            product = (acc[i] ^ words[i]) * (acc[i + 1] ^ words[i + 1])
            result += product & M64 ^ product >> 64
        result &= M64
        result ^= result >> 37
        result = result * 0x165667919E3779F9 & M64
        return result ^ result >> 32

    length = len(data)
    return merge(length * P64[0] & M64, 11), merge(~(length * P64[1]) & M64, 117)


# MARK: AES-256-GCM (NIST SP 800-38D), slow and plain

def aes_tables():
    box, p, q = [0] * 256, 1, 1
    while True:
        p = p ^ (p << 1) & 0xff ^ (0x1b if p & 0x80 else 0)
        for shift in (1, 2, 4):
            q ^= q << shift & 0xff
        q ^= 0x09 if q & 0x80 else 0
        spread = q
        for turn in range(1, 5):
            spread ^= (q << turn | q >> 8 - turn) & 0xff
        box[p] = spread ^ 0x63
        if p == 1:
            break
    box[0] = 0x63
    twice = [x << 1 & 0xff ^ (0x1b if x & 0x80 else 0) for x in range(256)]
    first = [twice[s] << 24 | s << 16 | s << 8 | twice[s] ^ s for s in box]
    turned = lambda table: [x >> 8 | (x & 0xff) << 24 for x in table]
    tables = [first]
    for _ in range(3):
        tables.append(turned(tables[-1]))
    return box, tables


BOX, ROUND = aes_tables()


@functools.lru_cache(maxsize=64)
def aes_keys(key):
    words = list(struct.unpack('>8I', key))
    constant = 1
    for i in range(8, 60):
        word = words[-1]
        if i % 8 in (0, 4):
            if i % 8 == 0:
                word = (word << 8 | word >> 24) & 0xffffffff
            word = sum(BOX[word >> s & 0xff] << s for s in (0, 8, 16, 24))
        if i % 8 == 0:
            word ^= constant << 24
            constant <<= 1
        words.append(words[i - 8] ^ word)
    return words


def aes(key, block):
    words = aes_keys(key)
    a = [x ^ y for x, y in zip(struct.unpack('>4I', block), words)]
    t0, t1, t2, t3 = ROUND
    for r in range(4, 56, 4):
        a = [t0[a[i] >> 24] ^ t1[a[(i + 1) % 4] >> 16 & 255] ^ t2[a[(i + 2) % 4] >> 8 & 255] ^ t3[a[(i + 3) % 4] & 255]
             ^ words[r + i] for i in range(4)]
    out = [(BOX[a[i] >> 24] << 24 | BOX[a[(i + 1) % 4] >> 16 & 255] << 16 | BOX[a[(i + 2) % 4] >> 8 & 255] << 8
            | BOX[a[(i + 3) % 4] & 255]) ^ words[56 + i] for i in range(4)]
    return struct.pack('>4I', *out)


def gcm_open(key, nonce, sealed, tag, context):
    """The plain bytes; None if the tag does not match."""
    h = int.from_bytes(aes(key, bytes(16)), 'big')
    # The field's multiplication by h, four bits at a time.
    powers = [h]
    for _ in range(127):
        powers.append(powers[-1] >> 1 ^ (0xe1 << 120 if powers[-1] & 1 else 0))
    nibbles = [[functools.reduce(lambda x, y: x ^ y, (powers[4 * n + b] for b in range(4) if v >> 3 - b & 1), 0)
                for v in range(16)] for n in range(32)]
    state = 0
    padded = context + bytes(-len(context) % 16) + sealed + bytes(-len(sealed) % 16)
    for chunk in range(0, len(padded) + 16, 16):
        word = padded[chunk:chunk + 16] or struct.pack('>QQ', len(context) * 8, len(sealed) * 8)
        state ^= int.from_bytes(word, 'big')
        result = 0
        for n in range(32):
            result ^= nibbles[n][state >> 124 - 4 * n & 15]
        state = result
    mask = int.from_bytes(aes(key, nonce + b'\0\0\0\1'), 'big')
    if (state ^ mask).to_bytes(16, 'big') != tag:
        return None
    stream = b''.join(aes(key, nonce + struct.pack('>I', 2 + i)) for i in range((len(sealed) + 15) // 16))
    return (int.from_bytes(sealed, 'big') ^ int.from_bytes(stream[:len(sealed)], 'big')).to_bytes(len(sealed), 'big')


# MARK: The file

class Ref:
    def __init__(self, data, at):
        location, self.birth = number(data, at, 8), number(data, at + 8, 8)
        self.tag = bytes(data[at + 16:at + 32])
        self.aux, self.rows, self.kind = number(data, at + 32, 4), number(data, at + 36, 2), number(data, at + 39, 1)
        self.location, self.page, self.pages = location, location >> 16, (location & 0xffff) + 1
        need(location >> 63 == 0, 'a ref says pending')

    def __bool__(self):
        return self.location != 0


class Database:
    def __init__(self, data, key=None):
        self.data, self.blocks, self.reached = data, {}, {}
        self.header = self.read_header()
        self.seed = struct.unpack_from('<QQ', self.header, 32)
        self.identifier = self.header[16:32]
        self.file_key = None
        if number(self.header, 52, 4) & 1:
            need(key is not None and len(key) == 64, 'the file is encrypted: a key of 64 bytes is needed')
            self.file_key = hmac.new(self.header[64:96], key, hashlib.sha256).digest()
            check = hmac.new(self.expand('regnum head', 0), self.header[:96], hashlib.sha256).digest()
            need(check == self.header[96:128], 'the key is not that of the file')
        else:
            need(key is None, 'the file is not encrypted')
            need(not any(self.header[56:128]), 'a plain header is not zero where an encrypted one tells of its cipher')
        self.read_slots()

    def expand(self, purpose, value):
        return hmac.new(self.file_key, purpose.encode() + struct.pack('<Q', value) + b'\1', hashlib.sha256).digest()

    def read_header(self):
        for page in (0, 12):
            header = self.data[page * PAGE:page * PAGE + PAGE]
            if len(header) < PAGE or header[:8] != b'RGN\x1a\r\n\xa9\0':
                continue
            if struct.unpack_from('<QQ', header, 4080) != xxh3(header[:4080], (0, 0)):
                continue
            need(number(header, 12, 4) <= 1, 'the file needs a newer reader')
            need(number(header, 48, 4) == PAGE, 'the page size is another')
            return header
        raise Damage('no header holds')

    def slot_at(self, start):
        slot = self.data[start:start + PAGE]
        if self.file_key is not None:
            plain = gcm_open(self.expand('regnum slot', 0), slot[:12], slot[16:4080], slot[4080:],
                             self.identifier + bytes(24))
            if plain is None:
                return None
            slot = plain + bytes(32)
        elif struct.unpack_from('<QQ', slot, 4080) != xxh3(slot[:4080], self.seed):
            return None
        need(slot[:4] == b'RSLT' and number(slot, 4, 2) == 1, 'a slot has another format')
        return slot

    def read_slots(self):
        slots = [slot for slot in map(self.slot_at, (16384, 32768)) if slot is not None]
        slots.sort(key=lambda slot: -number(slot, 8, 8))
        settled = max((slot for slot in map(self.slot_at, (57344, 8192)) if slot is not None),
                      key=lambda slot: number(slot, 8, 8), default=None)
        if settled is not None:
            need(number(settled, 160, 4) == 0, 'the settled slot has a manifest')
            if not slots or number(settled, 8, 8) > number(slots[0], 8, 8):
                slots.insert(0, settled)
        for slot in slots:
            is_settled = settled is not None and slot[8:24] == settled[8:24]
            if is_settled:
                need(len(self.data) >= number(slot, 32, 8) * PAGE, 'the file ends before its content')
            if is_settled or self.is_whole(slot):
                self.version, self.high_water = number(slot, 8, 8), number(slot, 32, 8)
                self.catalog, self.free_log = Ref(slot, 40), Ref(slot, 80)
                return
        raise Damage('no commit is whole')

    def is_whole(self, slot):
        if len(self.data) < number(slot, 32, 8) * PAGE:
            return False
        runs = number(slot, 160, 4)
        need(runs <= 160 and (runs == 0 or not number(slot, 6, 2) & 1), 'a slot has an impossible manifest')
        for i in range(runs):
            location, low, high = struct.unpack_from('<QQQ', slot, 168 + 24 * i)
            start = (location >> 16) * PAGE
            if xxh3(self.data[start:start + ((location & 0xffff) + 1) * PAGE], self.seed) != (low, high):
                return False
        return True

    def block(self, ref, *kinds):
        need(ref.kind in kinds, f'a block of kind {ref.kind} where {kinds} belong')
        need(ref.page >= 16 and ref.page + ref.pages <= self.high_water, 'a ref leads out of the file')
        key = (ref.location, ref.birth)
        if key in self.blocks:
            return self.blocks[key]
        data = self.data[ref.page * PAGE:(ref.page + ref.pages) * PAGE]
        if self.file_key is not None:
            context = self.identifier + struct.pack('<QQQ', ref.location, ref.birth, ref.kind)
            plain = gcm_open(self.expand('regnum block', ref.birth // 128), data[:12], data[16:], ref.tag, context)
            need(plain is not None, f'the block at page {ref.page} is not authentic')
            data = struct.pack('<HBBHHQ', 0x4252, ref.kind, 1, ref.pages - 1, 0, ref.page) + plain
        else:
            need(struct.pack('<QQ', *xxh3(data, self.seed)) == ref.tag, f'the block at page {ref.page} is damaged')
        magic, kind, layout, pages, zero, page, birth, _ = struct.unpack_from('<HBBHHQQQ', data)
        need((magic, kind, layout, pages + 1, zero, page, birth) ==
             (0x4252, ref.kind, 1, ref.pages, 0, ref.page, ref.birth), f'the header at page {ref.page} says otherwise')
        for page in range(ref.page, ref.page + ref.pages):
            need(page not in self.reached, f'page {page} is reached twice')
            self.reached[page] = ref.kind
        self.blocks[key] = data
        return data

    # MARK: Catalog and schema

    def read(self):
        data, at = self.block(self.catalog, CATALOG), 32
        schema = self.read_schema(Ref(data, at))
        schema_version, _, count = struct.unpack_from('<QQI', data, at + 40)
        at += 60
        tables, trees = [], []
        for _ in range(count):
            key, tree_count, _, objects = struct.unpack_from('<IIQQ', data, at)
            root = Ref(data, at + 24)
            at += 64
            table = schema[key]
            table['rows'] = [list(row) for row in self.read_rows(root, table)]
            need(len(table['rows']) == objects, 'a table has another number of objects')
            keys = [row[0] for row in table['rows']]
            need(all(x < y for x, y in zip(keys, keys[1:])), "a table's keys do not ascend")
            tables.append(table)
            for _ in range(tree_count):
                column, role, entries = struct.unpack_from('<IIQ', data, at)
                trees.append((table, column, role, entries, Ref(data, at + 16)))
                at += 56
        for tree in trees:
            self.check_tree(*tree)
        self.check_uniques(tables, trees)
        self.check_links(tables)
        self.check_space()
        tables.sort(key=lambda table: table['key'])
        return {'version': self.version, 'schemaVersion': schema_version, 'tables': tables}

    def read_schema(self, ref):
        data, at = self.block(ref, SCHEMA), 32

        def take(form):
            nonlocal at
            values = struct.unpack_from('<' + form, data, at)
            at += struct.calcsize('<' + form)
            return values

        def text():
            nonlocal at
            length, = take('H')
            at += length
            return data[at - length:at].decode()

        features = set()
        for _ in range(take('I')[0]):
            required, = take('B')
            name = text()
            features.add(name)
            need(not required or name in FEATURES, f'the file needs the feature {name}')
        tables = {}
        for _ in range(take('I')[0]):
            key, _, flags = take('IIH')
            table = {'key': key, 'name': text(), 'embedded': bool(flags & 1), 'columns': []}
            for _ in range(take('H')[0]):
                column_key, kind, collection, flags, rules, target = take('IBBBBI')
                column = {
                    'key': column_key, 'name': text(), 'type': TYPES[kind], 'collection': COLLECTIONS[collection],
                    'nullable': bool(flags & 1), 'indexed': bool(flags & 2), 'primary': bool(flags & 4),
                    'hidden': bool(flags & 8), 'target': None if target == 0xffffffff else target}
                need(not rules or kind == 10 and 'delete rules' in features, 'a delete rule without links or feature')
                need(not flags & 16 or 'content indexes' in features, 'an index of contents without its feature')
                # Only if they exist: the dumps of older files do not have them.
                if flags & 16:
                    column['contents'] = True
                if rules & 3:
                    column['deleteRule'] = RULES[rules & 3]
                if rules >> 2:
                    column['originRule'] = RULES[rules >> 2]
                table['columns'].append(column)
            tables[key] = table
        for _ in range(take('I')[0] if 'unique' in features else 0):
            key, constraint, count = take('IIH')
            columns = [take('I')[0] for _ in range(count)]
            known = {column['key'] for column in tables[key]['columns']}
            need(columns and set(columns) <= known and constraint not in known, 'a constraint of impossible columns')
            tables[key].setdefault('uniques', []).append({'key': constraint, 'columns': columns})
        return tables

    # MARK: Rows

    def read_rows(self, ref, table, level=None):
        if not ref:
            return
        if ref.kind == NODE:
            data = self.block(ref, NODE)
            count, here = number(data, 32, 2), number(data, 34, 1)
            need(1 <= count <= 64 and (level is None or here == level), 'a node has a wrong level or count')
            for i in range(count):
                rows = list(self.read_rows(Ref(data, 1088 + 40 * i), table, here - 1))
                need(len(rows) == number(data, 576 + 8 * i, 8), 'a node counts other rows')
                need(rows[0][0] >= number(data, 64 + 8 * i, 8), 'a row lies before its node')
                yield from rows
            return
        need(level in (None, 0), 'a row group at a wrong level')
        data = self.block(ref, GROUP)
        rows, form, columns, externals = struct.unpack_from('<HBxHH', data, 32)
        first, span, keys_at = struct.unpack_from('<QQI', data, 40)
        if form == 0:
            keys = range(first, first + rows)
        elif form == 1:
            keys = [first + i for i in range(span) if number(data, keys_at + i // 64 * 8, 8) >> i % 64 & 1]
        else:
            keys = struct.unpack_from(f'<{rows}Q', data, keys_at)
        need(len(keys) == rows and keys[0] == first and keys[-1] == first + span - 1, 'a group has impossible keys')
        sources = [data]
        for i in range(externals):
            sources.append(self.block(Ref(data, 64 + 48 * columns + 40 * i), GROUP))
        segments = {}
        for i in range(columns):
            kind, flags, key, base, _, _, source, offset, length = struct.unpack_from(
                '<BBxxIqqqIII', data, 64 + 48 * i)
            segments[key] = (kind, flags, base, sources[source][offset:offset + length])
        values = [self.read_column(column, segments.get(column['key']), rows) for column in table['columns']]
        for i, key in enumerate(keys):
            yield [key] + [column[i] for column in values]

    def read_column(self, column, segment, rows):
        kind = column['type']
        words = (rows + 63) // 64 * 8
        if segment is None:
            segment = (10 if self.is_bytes(column) else 0, 16 | (1 if column['nullable'] else 0), 0, bytes(words))
        form, flags, base, data = segment
        at = words if flags & 1 else 0
        blobs_at = at
        at += words if flags & 4 else 0
        sizes = {1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 6: 4, 7: 8, 8: 12, 9: 16, 10: 2, 11: 4}
        size = sizes.get(form, 0)
        length = 0 if flags & 16 or form == 0 else words if form == 1 else rows * size
        tail = at + (length + 7) // 8 * 8
        bit = lambda start, i: number(data, start + i // 64 * 8, 8) >> i % 64 & 1
        values = []
        for i in range(rows):
            if flags & 1 and not bit(0, i):
                values.append(None)
                continue
            place = at + i * size
            if self.is_bytes(column):
                if flags & 16:
                    raw = b''
                else:
                    start = tail + (number(data, place - size, size) if i else 0)
                    raw = data[start:tail + number(data, place, size)]
                if flags & 4 and bit(blobs_at, i):
                    if column['collection'] != 'none' and Ref(raw, 0).kind == ELEMENTS:
                        values.append(self.read_large(column, raw))
                        continue
                    raw = self.read_blob(raw)
                values.append(self.read_bytes(column, raw))
                continue
            if flags & 16 and form not in (0, 2, 3, 4, 5):
                raw = bytes(16)
            elif form == 1:
                raw = bytes([bit(at, i)])
            elif form in (0, 2, 3, 4, 5) and kind in ('int', 'date', 'link'):
                stored = 0 if flags & 16 or form == 0 else number(data, place, size)
                raw = struct.pack('<Q', (stored + base) & M64)
                if kind == 'date':
                    raw += data[tail + 4 * i:tail + 4 * i + 4] if flags & 2 else bytes(4)
            elif form == 0:
                raw = bytes(16)
            else:
                raw = data[place:place + size]
            values.append(scalar(kind, raw))
        return values

    @staticmethod
    def is_bytes(column):
        return column['collection'] != 'none' or column['type'] in ('string', 'data', 'mixed')

    def read_blob(self, record):
        need(len(record) == 48, 'a blob record has another size')
        data, length = self.block(Ref(record, 0), BLOB), number(record, 40, 8)
        need(number(data, 32, 8) == length and length <= len(data) - 40, 'a blob has another size')
        return data[40:40 + length]

    def read_large(self, column, record):
        """A large collection: the concatenated content of its leaves."""
        need(len(record) == 48, 'a record of a large collection has another size')
        leaves = list(self.leaves(column, Ref(record, 0)))
        need(sum(map(len, leaves)) == number(record, 40, 8), 'a record counts other elements')
        if column['collection'] != 'dictionary':
            return [element for leaf in leaves for element in leaf]
        keys = [key.encode() for leaf in leaves for key in leaf]
        need(all(x < y for x, y in zip(keys, keys[1:])), "a large dictionary's keys do not ascend")
        return {key: value for leaf in leaves for key, value in leaf.items()}

    def leaves(self, column, ref, level=None):
        if ref.kind == BLOB:
            need(level in (None, 0), 'a leaf at a wrong level')
            data = self.block(ref, BLOB)
            length = number(data, 32, 8)
            need(length <= len(data) - 40, 'a leaf is longer than its block')
            yield self.read_bytes(column, data[40:40 + length])
            return
        data = self.block(ref, ELEMENTS)
        count, here = number(data, 32, 2), number(data, 34, 1)
        need(1 <= count <= 84 and here >= 1 and level in (None, here), 'a node has a wrong level or count')
        start = 0
        for i in range(count):
            below = list(self.leaves(column, Ref(data, 712 + 40 * i), here - 1))
            start += sum(map(len, below))
            need(all(below) and start == number(data, 40 + 8 * i, 8), 'a node counts other elements')
            yield from below

    def read_bytes(self, column, raw):
        kind, collection = column['type'], column['collection']
        if collection == 'none':
            return mixed(raw) if kind == 'mixed' else scalar(kind, raw)
        if collection != 'dictionary':
            return read_list(kind, raw)
        if not raw:
            return {}
        need(raw[:4] == bytes(4), 'a dictionary of an unknown kind')
        length = number(raw, 4, 4)
        keys = [key[len('string:'):] for key in read_list('string', raw[8:8 + length])]
        encoded = [key.encode() for key in keys]
        need(all(x < y for x, y in zip(encoded, encoded[1:])), "a dictionary's keys do not ascend")
        values = read_list(kind, raw[8 + length:])
        need(len(keys) == len(values), 'a dictionary has more keys than values')
        return dict(zip(keys, values))

    # MARK: Trees

    def entries(self, ref, level=None):
        """(value or None, key) in order."""
        if not ref:
            return
        data = self.block(ref, LEAF, BRANCH)
        count, nulls = struct.unpack_from('<HH', data, 32)
        width, key_width, form, here = data[36:40]
        need(level is None or here == level, 'an index node has a wrong level')
        is_sequence = form == 0 and width == key_width == 0 and nulls in (0, count)
        need(count <= (64 if ref.kind == BRANCH else 4096 if is_sequence else 1024), 'an index node is too large')
        if ref.kind == BRANCH:
            for i in range(count):
                below = list(self.entries(Ref(data, 40 + 24 * count + 40 * i), here - 1))
                need(len(below) == number(data, 40 + 16 * count + 8 * i, 8), 'a branch counts other entries')
                yield from below
            return
        base, last, key_base, key_stride = struct.unpack_from('<QQQQ', data, 40)
        keys_end = 72 + (count * key_width + 7) // 8 * 8
        prefix_at = keys_end + 2 * (count - nulls)
        prefix = number(data, 40, 2)
        end = 0
        for i in range(count):
            key = key_base + (number(data, 72 + i * key_width, key_width) if key_width else i * key_stride) & M64
            j = i - nulls
            if j < 0:
                yield None, key
            elif form == 0:
                yield base + (number(data, keys_end + j * width, width) if width else j * last) & M64, key
            else:
                start, end = end, number(data, keys_end + 2 * j, 2)
                heap = prefix_at + prefix
                yield data[prefix_at:heap] + data[heap + start:heap + end], key

    def check_tree(self, table, column_key, role, count, root):
        found = list(self.entries(root))
        need(len(found) == count, 'a tree has another number of entries')
        order = [(value is not None, value or 0 if not isinstance(value, bytes) else value, key)
                 for value, key in found]
        need(order == sorted(order), 'a tree is not in order')
        if role == 4:
            expected = list(self.constrained(table, column_key))
            need(self.shortened(found) == self.shortened(expected), f"a constraint of {table['name']} is not kept")
            return
        position = [column['key'] for column in table['columns']].index(column_key)
        column = table['columns'][position]
        if role == 3:
            need(column.get('contents'), 'an index of contents that no column has')
            self.check_contents(column, {row[0]: row[1 + position] for row in table['rows']}, found)
            return
        expected = []
        for row in table['rows']:
            value = row[1 + position]
            if role == 2:
                expected += [(target, row[0]) for target in link_words(value, column)]
            elif value is None:
                expected.append((None, row[0]))
            elif column['type'] != 'mixed':
                expected.append((index_value(value), row[0]))
        if role == 1 and column['type'] == 'mixed':
            need(sorted(key for _, key in found) == sorted(row[0] for row in table['rows']), 'an index lacks objects')
            return
        need(self.shortened(found) == self.shortened(expected),
             f"the tree of {table['name']}.{column['name']} does not hold what the objects hold")
        if column['primary'] and role == 1:
            need(len({value for value, _ in found}) == len(found), 'a primary key is there twice')

    @staticmethod
    def shortened(entries):
        """In order; the digest at the end of a value of more than 1,000 bytes is not computed here."""
        cut = [(value[:1000] if isinstance(value, bytes) else value, key) for value, key in entries]
        return sorted(cut, key=lambda entry: (entry[0] is not None, entry[0] or 0 if not isinstance(entry[0], bytes)
                                              else entry[0], entry[1]))

    @staticmethod
    def check_contents(column, values, found):
        """The reader need not know the definition of a term, but must know that of a location."""
        if column['type'] == 'double':
            cells = [(cell(value), key) for key, value in values.items() if cell(value) is not None]
            need(sorted(found) == sorted(cells), 'an index of places does not hold the places')
            return
        words, counts = {}, {}
        for value, entry in found:
            key, place = entry >> 16, entry & 0xffff
            need(values.get(key), 'a full-text index names an object that is not there, or has no text')
            if value is None:
                need(counts.setdefault(key, place) == place, 'a text is counted twice')
            else:
                words.setdefault(key, []).append(place)
        # These texts have fewer terms than there are positions, so each term has its own.
        for key, places in words.items():
            need(counts.get(key) == len(places) == len(set(places)), 'a text has other words than it says')
        need(set(words) == set(counts), 'a text has no words and says that it has some')

    @staticmethod
    def constrained(table, constraint):
        """The concatenated values of a constraint, and their objects."""
        unique, = (unique for unique in table['uniques'] if unique['key'] == constraint)
        keys = [column['key'] for column in table['columns']]
        for row in table['rows']:
            values = [row[1 + keys.index(key)] for key in unique['columns']]
            if None not in values:
                yield b''.join(map(unique_value, values)), row[0]

    @staticmethod
    def check_uniques(tables, trees):
        """Each constraint holds, and has a tree unless an index enforces it."""
        for table in tables:
            roles = {(column, role) for owner, column, role, _, _ in trees if owner is table}
            for unique in table.get('uniques', []):
                found = [value for value, _ in Database.constrained(table, unique['key'])]
                need(len(found) == len(set(found)), f"two objects of {table['name']} are alike that must not be")
                first = next(column for column in table['columns'] if column['key'] == unique['columns'][0])
                by_index = len(unique['columns']) == 1 and (first['indexed'] or first['primary'])
                need(((unique['key'], 4) in roles) != by_index, 'a constraint has no tree, or one too many')

    @staticmethod
    def check_links(tables):
        keys = {table['key']: {row[0] for row in table['rows']} for table in tables}
        owned = {table['key']: [] for table in tables if table['embedded']}
        for table in tables:
            for position, column in enumerate(table['columns']):
                for row in table['rows']:
                    for word in link_words(row[1 + position], column):
                        home, key = (word >> 48, word & (1 << 48) - 1) if column['type'] == 'mixed' else (
                            column['target'], word)
                        need(key in keys[home], 'a link leads to no object')
                        if home in owned:
                            owned[home].append(key)
        for home, links in owned.items():
            need(sorted(links) == sorted(keys[home]), 'an embedded object has not one owner')

    # MARK: Space

    def check_space(self):
        free, pending, records, ref = set(), set(), [], self.free_log
        while ref:
            data = self.block(ref, FREE_LOG)
            records.append(data)
            ref = None if data[32] & 1 else Ref(data, 56)
        for data in reversed(records):
            freed, taken = struct.unpack_from('<II', data, 96)
            for i in range(taken):
                page, count = struct.unpack_from('<QQ', data, 104 + 32 * freed + 16 * i)
                free -= set(range(page, page + count))
                pending -= set(range(page, page + count))
            for i in range(freed):
                page, count, _, death = struct.unpack_from('<QQQQ', data, 104 + 32 * i)
                pages = set(range(page, page + count))
                need(not pages & (free | pending), 'a page is free twice')
                (pending if death else free).update(pages)
        pages = set(range(16, self.high_water))
        need(not (free | pending) & set(self.reached), 'a page is free and in use')
        need(free | pending | set(self.reached) == pages, 'pages are neither free nor in use')


# MARK: Values

def scalar(kind, raw):
    if kind == 'bool':
        return f"bool:{'true' if raw[0] & 1 else 'false'}"
    if kind == 'int':
        return f'int:{signed(number(raw, 0, 8))}'
    if kind == 'float':
        return f'float:{number(raw, 0, 4):08x}'
    if kind == 'double':
        return f'double:{number(raw, 0, 8):016x}'
    if kind == 'string':
        return 'string:' + raw.decode()
    if kind == 'data':
        return 'data:' + raw.hex()
    if kind == 'date':
        return f'date:{signed(number(raw, 0, 8))},{signed(number(raw, 8, 4), 32)}'
    if kind == 'objectID':
        return 'objectID:' + raw[:12].hex()
    if kind == 'uuid':
        return 'uuid:' + raw[:16].hex()
    if kind == 'decimal128':
        return 'decimal128:' + raw[15::-1].hex()
    key = number(raw, 0, 8)
    return f'link:{key}' if key else None


def mixed(raw):
    if not raw:
        return None
    tag, raw = raw[0], raw[1:]
    if tag == 10:
        return f'link:{number(raw, 0, 4)}/{number(raw, 4, 8)}'
    if tag < 12:
        return scalar(TYPES[tag], raw)
    count = number(raw, 0, 4)
    ends = [number(raw, 4 + 4 * i, 4) for i in range(count * (tag - 11))]
    heap = raw[4 + 4 * len(ends):]
    parts = [heap[start:end] for start, end in zip([0] + ends, ends)]
    if tag == 12:
        return [mixed(part) for part in parts]
    keys = parts[::2]
    need(tag == 13 and all(x < y for x, y in zip(keys, keys[1:])), 'a mixed value of an unknown kind or order')
    return {key.decode(): mixed(part) for key, part in zip(keys, parts[1::2])}


def read_list(kind, raw):
    if not raw:
        return []
    need(raw[0] == 0 and raw[1] & ~1 == 0, 'a list of an unknown kind')
    flags, width, count = raw[1], raw[2], number(raw, 4, 4)
    at = 8 + ((count + 63) // 64 * 8 if flags & 1 else 0)
    heap, values, end = at + width * count, [], 0
    for i in range(count):
        part = raw[at + i * width:at + (i + 1) * width]
        if kind in ('string', 'data', 'mixed'):
            start, end = end, number(part, 0, width)
            part = raw[heap + start:heap + end]
        if flags & 1 and not number(raw, 8 + i // 64 * 8, 8) >> i % 64 & 1:
            values.append(None)
        elif kind == 'mixed':
            values.append(mixed(part))
        else:
            values.append(scalar(kind, part + bytes(8 - width) if kind in ('int', 'link') else part))
    return values


def link_words(value, column):
    """The targets of links in a value, nested ones too."""
    if isinstance(value, (list, dict)):
        return [word for part in (value.values() if isinstance(value, dict) else value)
                for word in link_words(part, column)]
    if column['type'] not in ('link', 'mixed') or not value or not value.startswith('link:'):
        return []
    table, _, key = value[5:].rpartition('/')
    return [(int(table) << 48 if table else 0) | int(key)]


def index_value(text):
    kind, _, rest = text.partition(':')
    if kind == 'int':
        return (int(rest) & M64) ^ 1 << 63
    if kind == 'bool':
        return (1 if rest == 'true' else 0) ^ 1 << 63
    if kind == 'date':
        seconds, nanoseconds = map(int, rest.split(','))
        return struct.pack('>QI', (seconds & M64) ^ 1 << 63, (nanoseconds & 0xffffffff) ^ 1 << 31)
    return (rest.encode() if kind == 'string' else bytes.fromhex(rest))[:1000]


def unique_value(text):
    kind, _, rest = text.partition(':')
    if kind in ('bool', 'int', 'link'):
        return struct.pack('>Q', (rest == 'true' if kind == 'bool' else int(rest)) & M64)
    if kind == 'string':
        return struct.pack('<I', len(rest.encode())) + rest.encode()
    return index_value(text)


def cell(degrees):
    """The location that a list of numbers means; None if it is not a location."""
    numbers = [struct.unpack('>d', bytes.fromhex(text[len('double:'):]))[0] for text in degrees if text is not None]
    if len(numbers) < 2 or not (abs(numbers[0]) <= 180 and abs(numbers[1]) <= 90):
        return None
    parts = [min(M32, int((number + limit) / (2 * limit) * 2.0 ** 32)) for number, limit in zip(numbers, (180, 90))]
    return sum((part >> bit & 1) << 2 * bit + 1 - i for i, part in enumerate(parts) for bit in range(32))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('file')
    parser.add_argument('--key')
    parser.add_argument('--equals')
    arguments = parser.parse_args()
    with open(arguments.file, 'rb') as file:
        data = file.read()
    try:
        found = Database(data, bytes.fromhex(arguments.key) if arguments.key else None).read()
    except (Damage, struct.error, KeyError, IndexError, ValueError) as damage:
        sys.exit(f'{arguments.file}: {type(damage).__name__} {damage}')
    if not arguments.equals:
        json.dump(found, sys.stdout, ensure_ascii=False, indent=0)
        return
    with open(arguments.equals, encoding='utf-8') as file:
        expected = json.load(file)
    compare(expected, found, arguments.equals)
    rows = sum(len(table['rows']) for table in found['tables'])
    print(f"{arguments.file}: {len(found['tables'])} tables, {rows} objects: equal to {arguments.equals}")


def compare(expected, found, path):
    """Ends the program at the first difference; order of keys counts."""
    if isinstance(expected, dict) and isinstance(found, dict) and list(expected) == list(found):
        for key in expected:
            compare(expected[key], found[key], f'{path}.{key}')
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for i, pair in enumerate(zip(expected, found)):
            compare(*pair, f'{path}[{i}]')
    elif expected != found or type(expected) is not type(found):
        sys.exit(f'{path}: expected {expected!r:.300}, found {found!r:.300}')


if __name__ == '__main__':
    main()
