"""Writes the generated pages of docs/reference."""

from tools.reference.pages import DIRECTORY, pages


def main() -> None:
    for name, text in pages().items():
        path = DIRECTORY / name
        if path.exists() and path.read_text() == text:
            continue
        path.write_text(text)
        print(f"written {path.relative_to(DIRECTORY.parents[1])}")


if __name__ == "__main__":
    main()
