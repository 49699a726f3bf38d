"""Commit subjects on stdin, one a line, to the changelog of a version as JSON."""

import datetime
import json
import sys
import uuid

TITLES = {"feat": "Features", "fix": "Fixes"}


def main() -> None:
    subjects = [line.strip() for line in sys.stdin if line.strip()]
    sections = []
    for prefix, title in TITLES.items():
        entries = [s.split(": ", 1)[1] for s in subjects if s.startswith(prefix + ": ")]
        if entries:
            sections.append({"title": title, "entries": entries})
    shown = sum(len(section["entries"]) for section in sections)
    changelog = {
        "version": sys.argv[1],
        "generated_at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "build": str(uuid.uuid4()),
        "sections": sections,
        "stats": {"commits": len(subjects), "shown": shown, "share_shown": round(shown / max(len(subjects), 1), 3)},
        "tool": "changelog.py 7",
    }
    json.dump(changelog, sys.stdout, indent=2)


if __name__ == "__main__":
    main()
