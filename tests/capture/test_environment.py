"""What is said when TensorFlow is missing, too old or hidden, and when Keras runs on another backend."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
import tensorflow as tf

from tapetrace.capture import environment
from tapetrace.errors import InstallationError


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: object) -> None:
    module = ModuleType(name)
    vars(module).update(attributes)
    monkeypatch.setitem(sys.modules, name, module)


def test_the_version_of_the_installed_tensorflow() -> None:
    environment.require_installed()
    assert environment.require_tensorflow() == tf.__version__


def test_a_missing_tensorflow_names_the_command_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tensorflow")
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    for ask in (environment.require_installed, environment.require_tensorflow):
        with pytest.raises(InstallationError, match=r'pip install "tapetrace\[tensorflow\]"'):
            ask()


def test_a_tensorflow_that_does_not_import_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> ModuleType:
        raise ImportError("libcudart.so.12: cannot open shared object file\nlong story")

    monkeypatch.setattr(environment, "import_module", broken)
    with pytest.raises(InstallationError, match=r"cannot be imported \(libcudart\.so\.12: cannot open shared object file\)"):
        environment.require_tensorflow()


@pytest.mark.parametrize("version", ["2.15.1", "1.15.0", "2.4.0-rc1"])
def test_an_old_tensorflow(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    stand_in(monkeypatch, "tensorflow", __version__=version)
    with pytest.raises(InstallationError, match=f"TensorFlow {version} is too old"):
        environment.require_tensorflow()


@pytest.mark.parametrize("version", ["2.16.0", "2.22.0-dev20260101", "3.0.0"])
def test_a_new_tensorflow(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    stand_in(monkeypatch, "tensorflow", __version__=version)
    assert environment.require_tensorflow() == version


def test_a_file_of_the_user_in_place_of_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "tensorflow", __file__="/home/me/tensorflow.py")
    with pytest.raises(InstallationError, match=r"^/home/me/tensorflow\.py is imported in place of TensorFlow"):
        environment.require_tensorflow()


@pytest.mark.parametrize("imported", [True, False])
def test_keras_on_another_backend(monkeypatch: pytest.MonkeyPatch, imported: bool) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    if imported:
        stand_in(monkeypatch, "keras", backend=SimpleNamespace(backend=lambda: "jax"))
    else:
        monkeypatch.delitem(sys.modules, "keras", raising=False)
    with pytest.raises(InstallationError, match=r"Keras runs on jax here \(KERAS_BACKEND is set to it\).*KERAS_BACKEND=tensorflow"):
        environment.require_tensorflow()


def test_keras_on_another_backend_by_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    stand_in(monkeypatch, "keras", backend=SimpleNamespace(backend=lambda: "torch"))
    with pytest.raises(InstallationError, match=r"Keras runs on torch here \(as keras\.json says\)"):
        environment.require_tensorflow()


def test_the_log_level_of_the_user_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    environment.quiet_tensorflow()
    assert environment.os.environ["TF_CPP_MIN_LOG_LEVEL"] == "0"
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL")
    environment.quiet_tensorflow()
    assert environment.os.environ["TF_CPP_MIN_LOG_LEVEL"] == "2"
