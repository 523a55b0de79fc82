# Runs the steps of `make test`, and notes what each takes. Sourced by .ci/test and e2e/run.
# shellcheck shell=bash

# One row per step: name, wall seconds, CPU seconds.
TIMINGS=${TIMINGS:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)/target/test-timings.tsv}
mkdir -p "$(dirname -- "$TIMINGS")"

step() { # NAME COMMAND...
    local status=0 start=$SECONDS
    echo "== $1"
    # `time` writes to the standard error of the group, the command to the one of the caller.
    { TIMEFORMAT="$1	%R	%U	%S" && { time "${@:2}" 2>&3 3>&-; } 2>>"$TIMINGS" || status=$?; } 3>&2
    ((status == 0)) || echo "FAILED after $((SECONDS - start)) s: $1" >&2
    return "$status"
}

# The program of a package's integration tests, as the build of the whole workspace made it. `cargo test -p PACKAGE` would build
# again what the package's dependencies share with the others, because its features differ.
test_program() { # PACKAGE_FOLDER
    cargo test --locked --workspace --no-run --quiet --message-format=json |
        python3 -c '
import json, sys
for line in sys.stdin:
    unit = json.loads(line)
    if unit.get("executable") and unit["target"]["name"] == "tests" and ("/" + sys.argv[1] + "#") in unit["package_id"]:
        print(unit["executable"])' "$1"
}
