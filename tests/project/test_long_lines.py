from pathlib import Path

from long_lines import long_lines, main


def test_rows_of_tables_and_addresses_may_be_long(tmp_path: Path, capsys) -> None:
    page, words = tmp_path / "page.md", "word " * 23
    page.write_text(f"{words}12345\n{words}123456\n| {words * 2}|\nsee https://example.org/{'a' * 120}\n{'é' * 121}\n")
    assert list(long_lines(page)) == [2, 5]
    assert main([str(page)]) == 1
    assert capsys.readouterr().out.splitlines()[0] == f"{page}:2: longer than 120 columns"
    page.write_text(words)
    assert main([str(page)]) == 0
