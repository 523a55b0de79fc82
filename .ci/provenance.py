"""Prints the provenance of the files that SHA256SUMS in a folder lists: an in-toto statement with the predicate of SLSA 1.0.

Usage: provenance.py FOLDER COMMIT STARTED, with the time of the start as in 2026-01-31T12:00:00Z.
"""

import datetime
import hashlib
import json
import pathlib
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main():
    folder, commit, started = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    subjects = [{"name": name, "digest": {"sha256": digest}} for digest, name in (line.split("  ", 1) for line in lines)]
    lock = hashlib.sha256(pathlib.Path("Cargo.lock").read_bytes()).hexdigest()
    dependencies = [
        {"name": "source", "digest": {"gitCommit": commit}},
        {"name": "Cargo.lock", "digest": {"sha256": lock}},
    ]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://benchwright.dev/make-release/v1",
                "externalParameters": {"command": "make release"},
                "internalParameters": {
                    "rustc": output("rustc", "--version"),
                    "cargo": output("cargo", "--version"),
                    "machine": output("uname", "-m"),
                },
                "resolvedDependencies": dependencies,
            },
            "runDetails": {
                "builder": {"id": "https://benchwright.dev/local-build"},
                "metadata": {
                    "startedOn": started,
                    "finishedOn": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                },
            },
        },
    }
    print(json.dumps(statement, indent=2))


main()
