"""What differs between two folders of outputs: files line by line, or data field by field."""

import collections
import difflib
import json
import xml.etree.ElementTree as ElementTree

# Formats that programs read. All others are pages for people.
DATA = ("json", "jsonl", "junit")


def files(outputs):
    """The kept files by their names: `JOB/VERB/NAME.FORMAT`."""
    return {str(path.relative_to(outputs)): path for path in outputs.rglob("*") if path.is_file()}


def kind(name):
    """(verb, format) of a file."""
    verb = name.split("/")[1] if name.count("/") > 1 else name.split("/")[0]
    return verb, name.rsplit(".", 1)[-1]


def counts(outputs):
    """A table of the kept files by verb and format."""
    found = collections.Counter(kind(name) for name in files(outputs))
    rows = [f"{count:6}  {verb} {page}" for (verb, page), count in sorted(found.items())]
    return "\n".join([*rows, f"{sum(found.values()):6}  in all"])


def fields(value, path=""):
    """The leaves of a JSON value by path; an empty list or map is a leaf."""
    if isinstance(value, dict) and value:
        return {leaf: end for key, part in value.items() for leaf, end in fields(part, f"{path}.{key}").items()}
    if isinstance(value, list) and value:
        return {leaf: end for at, part in enumerate(value) for leaf, end in fields(part, f"{path}[{at}]").items()}
    return {path: value}


def element(node):
    """An XML element as a JSON value."""
    return {"name": node.tag, "attributes": node.attrib, "text": node.text or "", "parts": [element(part) for part in node]}


def data(text, page):
    """The fields of a file of data, or its lines where it can't be parsed."""
    try:
        if page == "junit":
            return fields(element(ElementTree.fromstring(text)))
        values = [json.loads(line) for line in text.splitlines()] if page == "jsonl" else json.loads(text)
        return fields(values)
    except (ValueError, ElementTree.ParseError):
        return dict(enumerate(text.splitlines()))


def of_fields(old, new, page):
    """Lines that say which fields differ."""
    old, new = data(old, page), data(new, page)
    missing = object()
    lines = []
    for path in [*old, *(path for path in new if path not in old)]:
        before, after = old.get(path, missing), new.get(path, missing)
        # 1 and 1.0 are two ways to write a number, and True is none.
        if (before, type(before) is bool) == (after, type(after) is bool):
            continue
        shown = ["absent" if value is missing else json.dumps(value, ensure_ascii=False)[:200] for value in (before, after)]
        lines.append(f"  {path}: {shown[0]} -> {shown[1]}")
    return lines


def of_lines(old, new):
    """A unified diff; long lines, such as the data of an HTML page, are split at commas."""


    def split(text):
        lines = (line.replace(',"', ',\n"') if len(line) > 500 else line for line in text.splitlines())
        return "\n".join(lines).split("\n")

    lines = difflib.unified_diff(split(old), split(new), lineterm="", n=1)
    return [line[:300] for line in lines][2:] or ["  only ends of lines differ"]


def show(old, new, arguments):
    """Prints what differs between two folders; 1 when something does."""
    before, after = files(old), files(new)
    if arguments.only:
        ran = {name.split("/")[0] for name in after}
        before = {name: path for name, path in before.items() if name.split("/")[0] in ran}
    differ, compared, printed = collections.Counter(), 0, 0
    for name in sorted(before.keys() | after.keys()):
        verb, page = kind(name)
        if (arguments.data_only and page not in DATA) or (arguments.text_only and page in DATA):
            continue
        compared += 1
        if name not in before or name not in after:
            lines = ["  only in the corpus" if name in before else "  not in the corpus"]
        else:
            texts = [path.read_text(encoding="utf-8", errors="replace") for path in (before[name], after[name])]
            if before[name].read_bytes() == after[name].read_bytes():
                continue
            lines = of_fields(*texts, page) if arguments.data_only else of_lines(*texts)
            if not lines:
                continue
        differ[verb, page] += 1
        if printed < arguments.files:
            printed += 1
            print(f"{name}\n" + "\n".join(lines[: arguments.lines]))
            if len(lines) > arguments.lines:
                print(f"  ... and {len(lines) - arguments.lines} lines more")
            print()
    total = sum(differ.values())
    if total > printed:
        print(f"... and {total - printed} files more (--files)\n")
    for (verb, page), count in sorted(differ.items()):
        print(f"{count:6}  {verb} {page}")
    print(f"{total} of {compared} files differ")
    return 1 if total else 0
