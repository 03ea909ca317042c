"""The tokenizer: what of a text can be found by what a person or an agent types."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memgraph.rules.text import (
    ASKS,
    FIRST_PERSON,
    HAS_TIME,
    MAX_QUERY_TERMS,
    fold,
    name_words,
    query_terms,
    stem,
    terms,
)


def found(content: str, query: str) -> bool:
    """Whether a query has a term in common with a content."""
    return not set(query_terms(query)).isdisjoint(terms(content).tokens)


class TestWords:
    def test_words_are_folded_and_stemmed_and_question_words_left_out(self) -> None:
        assert query_terms("What is Caroline's favourite Running route?") == ["carolin", "favourit", "run", "rout"]

    def test_length_counts_words_only(self) -> None:
        assert terms("The cat is on the mat").length == 2
        assert terms("see main.py for C++").length == 4  # see, main, py, c

    def test_key_tags_aliases_actor_and_month_are_terms(self) -> None:
        made = terms(
            "Porto",
            key="ada/city",
            tags=["travel"],
            aliases=["home town"],
            actor="Ada",
            when=datetime(2024, 5, 8, tzinfo=UTC),
        )
        assert {"porto", "ada", "citi", "ada/city", "travel", "home", "town", "may", "2024"} <= set(made.tokens)
        assert made.counts["ada"] == 2

    @pytest.mark.parametrize(
        ("word", "wanted"),
        [
            ("running", "run"),
            ("generously", "generous"),
            ("dying", "die"),
            ("skies", "sky"),
            ("hopping", "hop"),
            ("hoping", "hope"),
            ("relational", "relat"),
            ("conditional", "condit"),
            ("proceed", "proceed"),
            ("agreed", "agre"),
            ("yellow", "yellow"),
            ("knightly", "knight"),
            ("biologist", "biolog"),
            ("organization", "organiz"),
            ("happiness", "happi"),
            ("cries", "cri"),
            ("ties", "tie"),
            ("gaps", "gap"),
            ("gas", "gas"),
            ("kiwis", "kiwi"),
            ("happy", "happi"),
            ("say", "say"),
            ("by", "by"),
            ("y", "y"),
            ("youth", "youth"),
            ("inning", "inning"),
            ("beginning", "begin"),
            ("succeeded", "succeed"),
            ("exceedingly", "exceed"),
            ("luxuriated", "luxuri"),
            ("egging", "egg"),
            ("communism", "communism"),
            ("universal", "universal"),
            ("university", "universiti"),
            ("archaeology", "archaeolog"),
            ("apology", "apolog"),
            ("sensibility", "sensibl"),
            ("decisiveness", "decis"),
            ("formative", "format"),
            ("adjustment", "adjust"),
            ("adoption", "adopt"),
            ("controll", "control"),
            ("cats'", "cat"),
            ("cat's'", "cat"),
            ("'", "'"),
            ("falling", "fall"),
            ("adding", "add"),
            ("pasting", "paste"),
            ("don't", "don't"),
            ("as", "as"),
            ("42", "42"),
        ],
    )
    def test_stems(self, word: str, wanted: str) -> None:
        assert stem(word) == wanted


class TestStopWords:
    """B015: a query of nothing but stop words still finds the text that holds them."""

    @pytest.mark.parametrize(
        ("content", "query"),
        [("to be or not to be", "to be or not to be"), ("AND OR NOT literal", "and or not"), ("x TO y range", "{a TO")],
    )
    def test_they_are_found_when_nothing_else_is_asked(self, content: str, query: str) -> None:
        assert found(content, query)

    def test_they_do_not_count_beside_other_words(self) -> None:
        assert query_terms("the cat") == ["cat"]

    def test_they_do_not_count_in_the_length(self) -> None:
        assert terms("to be or not to be").length == 0


class TestTypedAsOne:
    """B015: text is taken literally; identifiers, paths and addresses are found as typed, and by their parts."""

    @pytest.mark.parametrize(
        "typed",
        [
            "main.py",
            "C:\\repo\\src\\main.py",
            "user_id-42",
            "ap-erp",
            "test@example.org",
            "C#",
            "C++",
            "v1.2.3",
            "foo:bar",
            "std::vector",
            "https://example.org/a?b=c",
            "a/b/c",
        ],
    )
    def test_the_whole_is_a_term(self, typed: str) -> None:
        whole = fold(typed)
        assert whole in query_terms(typed)
        assert whole in terms(f"we saw ({typed}), once.").tokens

    @pytest.mark.parametrize(
        ("content", "query"),
        [
            ("a/b/c path C:\\repo\\src\\main.py", "main.py"),
            ("user_id-42 ap-erp tenant", "user_id"),
            ("tb-foo and tb-bar labels", "tb-"),
            ("tb-foo and tb-bar labels", "-foo"),
            ("tb-foo and tb-bar labels", "foo~99"),
            ("foo*bar?baz~", "foo*bar?baz~"),
            ("price is $5 (five)", "(five)"),
            ('say "hello" [draft] {x} ^2', '"hello"'),
            ('say "hello" [draft] {x} ^2', "[draft]"),
            ('say "hello" [draft] {x} ^2', "{x}"),
            ("deploy key foo:bar/ baz", "foo:bar/"),
            ("a/b/c", "a\x00b"),
            ("emoji 🚀 launch", "🚀"),
            ("thumbs 👍🏽 up", "👍🏽"),
            ("Conan O'Brien spoke", "brien"),
            ("Conan O’Brien spoke", "O'Brien"),
        ],
    )
    def test_its_parts_are_found(self, content: str, query: str) -> None:
        assert found(content, query)

    def test_a_piece_of_a_path_that_is_joined_itself_is_a_term(self) -> None:
        assert "main.py" in terms("see src/main.py").tokens

    def test_one_letter_languages_differ(self) -> None:
        assert "c++" not in terms("notes on C#").tokens

    @pytest.mark.parametrize("query", ["?", "-", "+", "&&", "||", "!", "(", "]", '""', "~", "*", "*:*", "…"])
    def test_punctuation_alone_asks_for_nothing(self, query: str) -> None:
        assert query_terms(query) == []


class TestLongQueries:
    """B016: a pasted document is a query too; its first terms count."""

    def test_terms_are_capped(self) -> None:
        asked = query_terms(" ".join(f"w{number}" for number in range(1100)))
        assert asked == [f"w{number}" for number in range(MAX_QUERY_TERMS)]

    def test_a_long_word_is_cut_alike_on_both_sides(self) -> None:
        assert found("see " + "x" * 5000, "x" * 5000)
        assert max(map(len, terms("x" * 5000).tokens)) <= 100


class TestScripts:
    """B017: text in any script is found by its parts."""

    @pytest.mark.parametrize(
        ("content", "query"),
        [
            ("今天讨论了部署方案", "部署"),
            ("今天讨论了部署方案", "部署方案"),
            ("用户服务器部署在腾讯云国内节点", "腾讯云"),
            ("做好财务护城河", "护城河"),
            ("步2 重跑gen-itgc后50条悬空引用清零", "悬空"),
            ("步2 重跑gen-itgc后50条悬空引用清零", "gen-itgc"),
            ("API配置在C盘", "C盘"),
            ("API配置在C盘", "API配置"),
            ("API配置在C盘", "盘"),
            ("ｶﾚﾝﾀﾞｰを確認する", "カレンダー"),
            ("カレンダー を 確認", "ｶﾚﾝﾀﾞｰ"),
            ("오늘 끝말잇기 게임을 했다", "끝말잇기"),
            ("오늘 끝말잇기 게임을 했다", "게임"),
            ("한국어 문서", "한국어"),
            ("繁體中文記憶系統", "記憶"),
            ("Docker 部署在 Kubernetes 上", "kubernetes"),
            ("ทดสอบระบบความจำ", "ความจำ"),
            ("مرحبا بالعالم", "مرحبا"),
            ("שלום עולם", "שלום"),
            ("Zażółć gęślą jaźń", "gęślą"),
            ("Straße in Köln", "KÖLN"),
            ("Straße in Köln", "STRASSE"),
            ("İstanbul'da buluşma", "istanbul"),
            ("côté ouest", "côté"),
            ("ＦＵＬＬＷＩＤＴＨ ＡＢＣ", "fullwidth"),
            ("naïve café résumé", "cafe\u0301"),
            ("naïve café résumé", "NAÏVE"),
            ("हिन्दी में लिखा", "हिन्दी"),
            ("喝绿茶", "茶"),
        ],
    )
    def test_found(self, content: str, query: str) -> None:
        assert found(content, query)

    @pytest.mark.parametrize(("content", "query"), [("今天讨论了部署方案", "天气"), ("Straße in Köln", "koln")])
    def test_not_found(self, content: str, query: str) -> None:
        assert not found(content, query)

    def test_only_pairs_count_in_the_length(self) -> None:
        assert terms("部署方案").length == 3


class TestFlags:
    @pytest.mark.parametrize(
        ("content", "flags"),
        [
            ("I'm going home", FIRST_PERSON),
            ("WE like it", FIRST_PERSON),
            ("He left yesterday", HAS_TIME),
            ("born in 1984", HAS_TIME),
            ("room 12345", 0),
            ("last Monday's lunch", HAS_TIME),
            ("Where is it?  ", ASKS),
            ("在哪里？", ASKS),
            ("Did my class start in May?", FIRST_PERSON | HAS_TIME | ASKS),
            ("a plain statement", 0),
        ],
    )
    def test_flags(self, content: str, flags: int) -> None:
        assert terms(content).flags == flags

    def test_only_the_content_is_looked_at(self) -> None:
        assert terms("porto", key="i/my", tags=["today"], when=datetime(2024, 5, 8, tzinfo=UTC)).flags == 0


def test_name_words() -> None:
    assert name_words("What did Ann-Marie's 小明 say?") == ("what", "did", "ann", "marie", "say", "小", "明")


@given(st.text(max_size=60))
@example("a\u2028b\u00a0c\x1cd")
@example("'’''")
@example("ŉ")
def test_any_text_gives_terms_without_blanks_and_finds_itself(text: str) -> None:
    made = terms(text)
    asked = query_terms(text)
    assert all(token and token == "".join(token.split()) for token in made.tokens)
    assert set(asked) <= set(made.tokens)
    assert 0 <= made.length <= len(made.tokens)
    assert len(set(asked)) == len(asked) <= MAX_QUERY_TERMS


@given(st.text(max_size=40))
def test_composed_and_decomposed_text_is_the_same(text: str) -> None:
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert sorted(terms(composed).tokens) == sorted(terms(decomposed).tokens)
