# SPDX-License-Identifier: Apache-2.0
# What the steps share: they run in the root of the repository, and a test command that ran no test has failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mkdir -p .build-ci

# Runs a test command, shows its output, and fails if it failed or if no test ran.
run_tests() {
    local log
    log=.build-ci/$(basename "$0").log
    echo "+ $*" >&2
    "$@" 2>&1 | tee "$log"
    if ! grep -qE 'Test run with [1-9][0-9]* test' "$log"; then
        echo "no test ran: $*" >&2
        return 1
    fi
}

run() {
    echo "+ $*" >&2
    "$@"
}
