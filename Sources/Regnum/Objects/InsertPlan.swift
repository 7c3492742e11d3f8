// SPDX-License-Identifier: Apache-2.0
// How a new object's values are stored from its memory into the columns of its row: one small step per property,
// without closures, key paths or existentials. `RealmCore+Add.swift` then stores links and collections.

internal import Foundation
internal import RegnumEngine

/// The step for one property.
struct InsertStep {
    /// The type of the value at `offset`: the value itself, or an Optional of it if `isOptional` is true.
    var code: StorageCode
    var isOptional: Bool
    /// Byte offset of the value in the object.
    var offset: Int32
    var column: Int32
    /// Index in `ClassSchema.properties`.
    var property: Int32
    /// The class that a link points to.
    var target: ObjectBase.Type?
}

final class InsertPlan {
    /// Plain values.
    let steps: UnsafeMutableBufferPointer<InsertStep>
    let links: [InsertStep]
    let collections: [InsertStep]
    /// Values of any type, which may hold links, and embedded objects that represent custom types.
    let mixed: [InsertStep]
    /// `links`, `collections` and `mixed`, which may lead to objects that have no row yet, in the order in which they
    /// are stored.
    let deferred: [InsertStep]
    /// Enums, custom types and boxes. Their values come from the program's own code, which may do anything, so they are
    /// read before the row exists.
    let generic: [InsertStep]
    let primaryKey: InsertStep?
    /// The auto-incremented property's index and column.
    let autoIncrement: (property: Int, column: Int)?
    private let schema: ClassSchema

    init(_ binding: ClassBinding) {
        schema = binding.schema
        var plain: [InsertStep] = []
        var links: [InsertStep] = []
        var collections: [InsertStep] = []
        var mixed: [InsertStep] = []
        var generic: [InsertStep] = []
        var primaryKey: InsertStep?
        for (number, property) in binding.schema.properties.enumerated() where binding.columns[number] >= 0 {
            let step = InsertStep(
                code: property.storage == .boxField ? .generic : property.shape.code,
                isOptional: property.shape.isOptional, offset: Int32(property.offset),
                column: Int32(binding.columns[number]), property: Int32(number), target: property.shape.target)
            switch step.code {
            case .link: links.append(step)
            case .collection: collections.append(step)
            case _ where property.shape.type == .any || property.hasTarget: mixed.append(step)
            case .generic, .mixed: generic.append(step)
            default: plain.append(step)
            }
            if property.isPrimaryKey { primaryKey = step }
        }
        steps = .allocate(capacity: plain.count)
        _ = steps.initialize(from: plain)
        self.links = links
        self.collections = collections
        self.mixed = mixed
        deferred = links + collections + mixed
        self.generic = generic
        self.primaryKey = primaryKey
        autoIncrement = binding.schema.autoIncremented.map { ($0, binding.columns[$0]) }
    }

    deinit { steps.deallocate() }

    /// Stores the values of an unmanaged object in a new row.
    func store(_ object: ObjectBase, at location: RowLocation, in table: Table) {
        let memory = Unmanaged.passUnretained(object).toOpaque()
        let columns = location.group.columns
        for step in steps {
            let field = memory + Int(step.offset)
            let column = columns + Int(step.column)
            if step.isOptional {
                storeOptional(step, field, column, object, location, table)
            } else {
                storeBare(step, field, column, object, location, table)
            }
        }
    }

    @inline(__always)
    private func storeBare(
        _ step: InsertStep, _ field: UnsafeMutableRawPointer, _ column: UnsafeMutablePointer<ColumnView>,
        _ object: ObjectBase, _ location: RowLocation, _ table: Table
    ) {
        let row = location.row
        switch step.code {
        case .int64: column.pointee.putInteger(field.load(as: Int64.self), row)
        case .int32: column.pointee.putInteger(Int64(field.load(as: Int32.self)), row)
        case .int16: column.pointee.putInteger(Int64(field.load(as: Int16.self)), row)
        case .int8: column.pointee.putInteger(Int64(field.load(as: Int8.self)), row)
        case .bool: Bool._store(field.load(as: Bool.self), column, row, object)
        case .float: Float._store(field.load(as: Float.self), column, row, object)
        case .double: Double._store(field.load(as: Double.self), column, row, object)
        case .string:
            putString(field.assumingMemoryBound(to: String.self), Int(step.column), location, table)
        case .data:
            putData(field.assumingMemoryBound(to: Data.self).pointee, Int(step.column), location, table)
        case .date:
            Date._store(Date._filled(&field.assumingMemoryBound(to: Date?.self).pointee), column, row, object)
        case .uuid:
            UUID._store(UUID._filled(&field.assumingMemoryBound(to: UUID?.self).pointee), column, row, object)
        case .objectID:
            let value = ObjectId._filled(&field.assumingMemoryBound(to: ObjectId?.self).pointee)
            ObjectId._store(value, column, row, object)
        case .decimal128:
            let value = Decimal128._filled(&field.assumingMemoryBound(to: Decimal128?.self).pointee)
            Decimal128._store(value, column, row, object)
        case .generic, .link, .collection, .mixed: preconditionFailure("a value that is stored elsewhere")
        }
    }

    @inline(never)
    private func storeOptional(
        _ step: InsertStep, _ field: UnsafeMutableRawPointer, _ column: UnsafeMutablePointer<ColumnView>,
        _ object: ObjectBase, _ location: RowLocation, _ table: Table
    ) {
        let row = location.row
        func put<T: _PersistableInsideOptional>(_ type: T.Type) {
            // All values of a new row are null.
            guard let value = field.assumingMemoryBound(to: T?.self).pointee else { return }
            T._storeOptional(value, column, row, object)
        }
        switch step.code {
        case .int64: put(Int64.self)
        case .int32: put(Int32.self)
        case .int16: put(Int16.self)
        case .int8: put(Int8.self)
        case .bool: put(Bool.self)
        case .float: put(Float.self)
        case .double: put(Double.self)
        case .date: put(Date.self)
        case .uuid: put(UUID.self)
        case .objectID: put(ObjectId.self)
        case .decimal128: put(Decimal128.self)
        case .string:
            guard var value = field.assumingMemoryBound(to: String?.self).pointee else { return }
            column.pointee.markPresent(row)
            putString(&value, Int(step.column), location, table)
        case .data:
            guard let value = field.assumingMemoryBound(to: Data?.self).pointee else { return }
            column.pointee.markPresent(row)
            putData(value, Int(step.column), location, table)
        case .generic, .link, .collection, .mixed: preconditionFailure("a value that is stored elsewhere")
        }
    }

    /// `withUTF8` gives access to the bytes of a native string without a copy.
    @inline(__always)
    private func putString(
        _ text: UnsafeMutablePointer<String>, _ column: Int, _ location: RowLocation, _ table: Table
    ) {
        text.pointee.withUTF8 { bytes in
            checkLength("String", bytes.count, ByteLimits.string)
            table.setBytes(UnsafeRawBufferPointer(bytes), column, at: location)
        }
    }

    private func putData(_ data: Data, _ column: Int, _ location: RowLocation, _ table: Table) {
        checkLength("Binary", data.count, ByteLimits.data)
        data.withUnsafeBytes { table.setBytes($0, column, at: location) }
    }

    /// Returns the values of the `generic` properties, converted by their types.
    func genericValues(_ object: ObjectBase) -> [Value] {
        generic.map { schema.properties[Int($0.property)].raw(object).value }
    }

    /// Stores the values returned by `genericValues`.
    func store(_ values: [Value], at location: RowLocation, in table: Table) {
        for (step, value) in zip(generic, values) { put(value, Int(step.column), location, table) }
    }

    private func put(_ value: Value, _ number: Int, _ location: RowLocation, _ table: Table) {
        let column = location.group.columns + number
        let row = location.row
        if case .null = value { return }
        column.pointee.markPresent(row)
        switch value {
        case .null, .link, .typedLink, .list, .dictionary:
            // No enum, box or custom value is stored in this form.
            break
        case .date(let time):
            column.pointee.putInteger(time.seconds, row)
            // Writable date columns always have nanoseconds.
            column.pointee.aux.unsafelyUnwrapped
                .storeBytes(of: time.nanoseconds, toByteOffset: row &<< 2, as: Int32.self)
        case .uuid(let low, let high):
            let data = column.pointee.data + row &<< 4
            data.storeBytes(of: low, as: UInt64.self)
            data.storeBytes(of: high, toByteOffset: 8, as: UInt64.self)
        case .objectID(let low, let high):
            let data = column.pointee.data + row &* 12
            data.storeBytes(of: low, as: UInt64.self)
            data.storeBytes(of: high, toByteOffset: 8, as: UInt32.self)
        case .decimal128(let low, let high):
            let data = column.pointee.data + row &<< 4
            data.storeBytes(of: low, as: UInt64.self)
            data.storeBytes(of: high, toByteOffset: 8, as: UInt64.self)
        case .bool(let value):
            let words = column.pointee.data.assumingMemoryBound(to: UInt64.self)
            if value { words[row &>> 6] |= 1 &<< UInt64(row & 63) }
        case .int(let value): column.pointee.putInteger(value, row)
        case .float(let value):
            column.pointee.data.storeBytes(of: value, toByteOffset: row &<< 2, as: Float.self)
        case .double(let value):
            column.pointee.data.storeBytes(of: value, toByteOffset: row &<< 3, as: Double.self)
        case .string(var text): putString(&text, number, location, table)
        case .data(let bytes): bytes.withUnsafeBytes { table.setBytes($0, number, at: location) }
        }
    }
}

extension ColumnView {
    /// Stores a value in a writable column of integers.
    @inline(__always)
    func putInteger(_ value: Int64, _ row: Int) {
        data.storeBytes(of: value, toByteOffset: row &<< 3, as: Int64.self)
    }

    /// Marks the row as not null, if the column is nullable.
    @inline(__always)
    func markPresent(_ row: Int) {
        guard let validity else { return }
        validity[row &>> 6] |= 1 &<< UInt64(row & 63)
    }
}
