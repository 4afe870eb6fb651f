from veridical.metrics.attacking.edits import Edit, like, rewrite, words_of


def edit(field, start, end, text):
    return Edit(field, (start, end), text, ((start, end),))


def test_edits_are_made_where_they_were_found():
    inputs = {"text": "Tom saw 10 men", "text_pair": "Tom did"}
    edits = [edit("text", 8, 10, "1,000"), edit("text", 0, 3, "Al"), edit("text_pair", 0, 3, "Bartholomew")]
    assert rewrite(inputs, edits) == {"text": "Al saw 1,000 men", "text_pair": "Bartholomew did"}
    assert rewrite(inputs, []) == inputs


def test_words_are_not_punctuation():
    text = "Don't stop - it's 10/10!"
    assert [text[slice(*span)] for span in words_of(text)] == ["Don't", "stop", "it's", "10", "10"]


def test_case():
    assert [like(old, "McCoy") for old in ("tom", "TOM", "Tom", "T")] == ["mccoy", "MCCOY", "McCoy", "McCoy"]


def test_the_same_place_in_another_text_is_another_word():
    assert not edit("text", 0, 3, "").touched & edit("text_pair", 0, 3, "").touched
