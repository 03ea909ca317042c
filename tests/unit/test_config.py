"""Which store a call touches: argument, variable, memgraph.toml, default, in that order, and never a surprise."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import platformdirs
import pytest

from memgraph.config import Settings, default_store, resolve
from memgraph.errors import InvalidInputError


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder without settings, and a user's configuration folder `config` beside it."""
    monkeypatch.setattr(platformdirs, "user_config_path", lambda *_, **__: tmp_path / "config")
    (tmp_path / "config").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path


def test_defaults(place: Path) -> None:
    settings = resolve(environ={}, folder=place / "work")
    assert (settings.store, settings.namespace) == (default_store(), "default")
    assert (settings.durability, settings.lock_timeout, settings.max_clock_drift) == ("full", 10.0, 300.0)
    assert settings.origin("store") == settings.origin("namespace") == "default"
    assert Path(default_store()).name == "memory.db"


def test_the_strongest_place_wins_value_by_value(place: Path) -> None:
    work, user = place / "work" / "memgraph.toml", place / "config" / "memgraph.toml"
    work.write_text('namespace = "from-work"\nlock_timeout = 3\n')
    user.write_text('namespace = "from-user"\nlock_timeout = 4\ndurability = "normal"\n')
    environ = {"MEMGRAPH_NAMESPACE": "from-variable"}
    settings = resolve(environ=environ, folder=place / "work")
    assert (settings.namespace, settings.lock_timeout, settings.durability) == ("from-variable", 3.0, "normal")
    assert settings.origin("namespace") == "MEMGRAPH_NAMESPACE"
    assert settings.origin("lock_timeout") == str(work)
    assert settings.origin("durability") == str(user)
    settings = resolve(namespace=("from", "argument"), environ=environ, folder=place / "work")
    assert (settings.namespace, settings.origin("namespace")) == ("from/argument", "argument")


def test_a_store_named_in_a_file_lies_beside_that_file(place: Path) -> None:
    (place / "work" / "memgraph.toml").write_text('store = "agent.db"\n')
    assert resolve(environ={}, folder=place / "work").store == str(place / "work" / "agent.db")


def test_store_paths(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("USERPROFILE", str(place))
    assert resolve("~/agent.db", environ={}, folder=place).store == str(place / "agent.db")
    for store in (":memory:", "neo4j://localhost:7687", "agent.db"):
        assert resolve(store, environ={}, folder=place).store == store
    assert resolve(place / "x.db", environ={}, folder=place).store == str(place / "x.db")


@pytest.mark.parametrize(
    ("environ", "field"),
    [
        ({"MEMGRAPH_STORE": ""}, "store"),
        ({"MEMGRAPH_NAMESPACE": ""}, "namespace"),
        ({"MEMGRAPH_NAMESPACE": "a//b"}, "namespace"),
        ({"MEMGRAPH_NAMESPACE": "a\x1bb"}, "namespace"),
        ({"MEMGRAPH_DURABILITY": "sometimes"}, "durability"),
        ({"MEMGRAPH_LOCK_TIMEOUT": "long"}, "lock_timeout"),
        ({"MEMGRAPH_LOCK_TIMEOUT": "-1"}, "lock_timeout"),
        ({"MEMGRAPH_MAX_CLOCK_DRIFT": "nan"}, "max_clock_drift"),
    ],
)
def test_b047_what_is_empty_or_unusable_is_refused_and_named(place: Path, environ: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        resolve(environ=environ, folder=place)
    assert caught.value.field == field
    assert next(iter(environ)) in str(caught.value)


@pytest.mark.parametrize("text", ['stor = "x"\n', "store = \n", "\xff\xfe", "[store]\npath = 'x'\n"])
def test_a_bad_file_is_refused(place: Path, text: str) -> None:
    (place / "work" / "memgraph.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInputError):
        resolve(environ={}, folder=place / "work")


def test_credentials_are_filled_in_and_a_stray_address_is_not_followed(place: Path) -> None:
    environ = {"NEO4J_URI": "neo4j://elsewhere", "NEO4J_USERNAME": "ada", "NEO4J_PASSWORD": "s3cret-word"}
    settings = resolve(environ=environ, folder=place)
    assert settings.primary is None
    assert settings.store == default_store()
    assert settings.neo4j_username == "ada"
    assert settings.neo4j_password is not None
    assert settings.neo4j_password.get_secret_value() == "s3cret-word"
    assert settings.origin("neo4j_password") == "NEO4J_PASSWORD"
    own = resolve(environ=environ | {"MEMGRAPH_NEO4J_USERNAME": "grace"}, folder=place)
    assert (own.neo4j_username, own.origin("neo4j_username")) == ("grace", "MEMGRAPH_NEO4J_USERNAME")


def test_secrets_are_never_printed(place: Path) -> None:
    environ = {"MEMGRAPH_PRIMARY": "bolt://host", "NEO4J_PASSWORD": "s3cret-word"}
    settings = resolve(environ=environ, folder=place)
    for shown in (repr(settings), str(settings), repr(asdict(settings))):
        assert "s3cret-word" not in shown
    with pytest.raises(InvalidInputError) as caught:
        resolve(environ={"NEO4J_PASSWORD": "s3cret-word", "MEMGRAPH_LOCK_TIMEOUT": "s3cret-word"}, folder=place)
    assert "s3cret-word" not in str(caught.value)


@pytest.mark.parametrize("name", ["primary", "store"])
def test_an_address_holds_no_credentials(place: Path, name: str) -> None:
    """They are refused where they were given, and not repeated."""
    for address in ("bolt://ada:s3cret-word@host", "neo4j+s://:s3cret-word@host:1", "neo4j://s3cret-word@host"):
        variable = f"MEMGRAPH_{name.upper()}"
        for given in ({"environ": {variable: address}}, {name: address, "environ": {}}):
            with pytest.raises(InvalidInputError) as caught:
                resolve(folder=place, **given)  # type: ignore[arg-type]
            assert "s3cret-word" not in str(caught.value)
            assert caught.value.field == name
            assert "NEO4J_PASSWORD" in caught.value.hint
            assert (variable if given["environ"] else "argument") in str(caught.value)
    for address in ("bolt://[::1", "localhost:7687"):
        if name == "primary":
            with pytest.raises(InvalidInputError, match="address"):
                resolve(primary=address, environ={}, folder=place)


def test_where_says_which_store_a_call_touches(place: Path) -> None:
    def where(environ: dict[str, str], **given: str) -> str:
        return resolve(environ=environ, folder=place, **given).where  # type: ignore[arg-type]

    database = {"NEO4J_DATABASE": "d"}
    assert where({}) == default_store()
    assert where({"MEMGRAPH_PRIMARY": "bolt://a"}) == "bolt://a"
    assert where({"MEMGRAPH_PRIMARY": "bolt://a"} | database, primary="bolt://b") == "bolt://b/d"
    assert where(database, store="bolt://a") == "bolt://a/d"
    assert where({"MEMGRAPH_PRIMARY": "bolt://a"} | database, store="x.db") == "x.db with bolt://a/d"


def test_a_namespace_that_nobody_named_leaves_the_whole_store_in_reach(place: Path) -> None:
    assert resolve(environ={}, folder=place).arguments()["namespace"] is None
    assert resolve(namespace="default", environ={}, folder=place).arguments()["namespace"] == "default"


def test_settings_do_not_change_and_know_their_names(place: Path) -> None:
    settings = resolve(environ={}, folder=place)
    with pytest.raises(AttributeError):
        settings.store = "x"  # type: ignore[misc]
    with pytest.raises(InvalidInputError):
        settings.origin("nonsense")
    assert Settings(store="x").origin("store") == "default"


def test_a_primary_is_opened_with_its_credentials(place: Path) -> None:
    environ = {"MEMGRAPH_PRIMARY": "bolt://host", "NEO4J_PASSWORD": "s3cret-word", "NEO4J_DATABASE": "d"}
    found = resolve(environ=environ, folder=place).arguments()
    assert (found["path"], found["primary"], found["auth"], found["database"]) == (
        None,
        "bolt://host",
        ("neo4j", "s3cret-word"),
        "d",
    )
    assert "primary" not in resolve(environ={"NEO4J_PASSWORD": "s3cret-word"}, folder=place).arguments()


def test_a_file_cannot_have_the_environments_password_sent_to_it(place: Path) -> None:
    (place / "memgraph.toml").write_text('primary = "bolt://elsewhere"\n')
    with pytest.raises(InvalidInputError) as caught:
        resolve(environ={"NEO4J_PASSWORD": "s3cret-word"}, folder=place).arguments()
    assert "s3cret-word" not in str(caught.value)
    own = resolve(environ={"MEMGRAPH_NEO4J_PASSWORD": "s3cret-word"}, folder=place).arguments()
    assert own["auth"] == ("neo4j", "s3cret-word")
