# SPDX-License-Identifier: Apache-2.0
# Shared by the steps: they run in the root of the repository, and a test command that ran no test has failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mkdir -p .build-ci

# Runs a test command, shows its output, and fails if it failed or if no test ran. Failures are printed again at the
# end, because the tests run in parallel and their lines are scattered.
run_tests() {
    local log
    log=.build-ci/$(basename "$0").log
    echo "+ $*" >&2
    if ! "$@" 2>&1 | tee "$log"; then
        echo "what failed ($log has the whole output):" >&2
        grep -aE '✘|error:|Fatal error|unexpected signal|XCTAssert' "$log" | grep -av 'known issue' | tail -40 >&2 || true
        return 1
    fi
    if ! grep -qE 'Test run with [1-9][0-9]* test' "$log"; then
        echo "no test ran: $*" >&2
        return 1
    fi
}

# swift build for more than one trait. SwiftPM 6.3 passes the traits to the compiler in the random order of a set, and
# compiles everything again if it is another one. Tests run without this: the orders of their sets are to be random.
build_traits() {
    echo "+ swift build $*" >&2
    SWIFT_DETERMINISTIC_HASHING=1 swift build "$@"
}

run() {
    echo "+ $*" >&2
    "$@"
}

# Chooses the package of the next release build. These share a folder, so that each module of the library is compiled
# once. SwiftPM would build by the plan of the package before, which it keeps there.
nested() {
    export SWIFTPM_BUILD_DIR=$PWD/.build-nested
    mkdir -p "$SWIFTPM_BUILD_DIR"
    if [ "$(cat "$SWIFTPM_BUILD_DIR/package" 2> /dev/null)" != "$1" ]; then
        rm -f "$SWIFTPM_BUILD_DIR/release.yaml"
        echo "$1" > "$SWIFTPM_BUILD_DIR/package"
    fi
}

# The modules that a program links if it imports RealmSwift.
modules=(RegnumSystem RegnumEngine RegnumQuery RegnumObservation Regnum RealmSwift)

# The folders of a build's modules and objects: sets $swiftmodules, $objects and $links.
take() {
    local bin=$1 module
    swiftmodules=$bin/Modules
    objects=()
    links=()
    for module in "${modules[@]}"; do objects+=("$bin/$module.build"/*.o); done
    if [ -d "$bin/Crypto.build" ]; then
        # CryptoExtras belongs to RegnumRealmFile, which these programs do not link.
        while IFS= read -r object; do objects+=("$object"); done < <(
            find "$bin"/C[A-Z]*.build "$bin"/Crypto.build "$bin"/CryptoBoringWrapper.build -name '*.o' 2>/dev/null | sort -u)
        links+=(-lstdc++)
    fi
}
