"""SavedModels, held against TensorFlow's answer for what was loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.errors import TargetError, UsageError
from tests.capture.finished_oracle import contradictions, verdicts

X = tf.constant([0.5, -1.0, 2.0])
SPEC = tf.TensorSpec([3], name="x")


class Model(tf.Module):
    """The loss passes a function, a loop and a branch; ``table`` and ``pick`` are read in functions that must know what they hold."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tf.Variable(np.ones((5, 3), np.float32), name="table")
        self.gain = tf.Variable(0.5, name="gain")
        self.cut = tf.Variable(2.0, name="cut")
        self.pick = tf.Variable(4.0, name="pick")
        self.side = tf.Variable(3.0, name="side")
        self.never = tf.Variable(1.0, name="never")
        self.steps = tf.Variable(0, name="steps", trainable=False)

    @tf.function
    def rows(self, x: Any) -> Any:
        return tf.gather(self.table, tf.cast(tf.abs(x), tf.int32)), self.side * 2.0

    @tf.function(input_signature=[SPEC])
    def train(self, x: Any) -> Any:
        rows, _ = self.rows(x)
        value = tf.reduce_sum(rows) * tf.stop_gradient(self.cut)
        for _ in tf.range(2):
            value = value * self.gain
        return {"loss": tf.cond(value > 0.0, lambda: value * self.pick, lambda: value), "aux": tf.round(self.cut) * self.gain}

    @tf.function(input_signature=[SPEC])
    def serve(self, x: Any) -> Any:
        return x * self.gain


EXPECTED = {"table": "connected", "gain": "connected", "cut": "none", "pick": "conditional", "side": "zero", "never": "none"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = Model()
    folder = tmp_path_factory.mktemp("saved") / "model"
    tf.saved_model.save(model, folder, signatures={"train": model.train, "serving_default": model.serve})
    return folder


@pytest.fixture(scope="module")
def located(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("located") / "model"
    tf.saved_model.save(Model(), folder, options=tf.saved_model.SaveOptions(save_debug_info=True))
    return folder


class TestSavedModel:
    @pytest.mark.parametrize("how", ["attribute", "signature", "in the path", "loaded"])
    def test_verdicts_are_those_of_tensorflow(self, saved: Path, located: Path, how: str) -> None:
        loaded = tf.saved_model.load(saved)
        if how == "attribute":
            report = tapetrace.check(located, signature="train", loss="loss")
        elif how == "signature":
            report = tapetrace.check(str(saved), signature="train", loss="loss")
        elif how == "in the path":
            report = tapetrace.check(f"{saved}:train", loss="loss")
        else:
            report = tapetrace.check(loaded, signature="train", loss="loss")
        found = verdicts(report)
        assert found == EXPECTED
        assert (report.agreement.checked, report.agreement.disagreed) == (6, ())
        assert contradictions(report, lambda: loaded.train(X)["loss"], [getattr(loaded, v) for v in found]) == []

    def test_no_lines_and_a_note_of_it(self, saved: Path) -> None:
        report = tapetrace.check(f"{saved}:train", loss="loss", variables=["cut"])
        (cause,) = report.root_causes
        assert (cause.cause.value, cause.location) == ("stop_gradient", None)
        assert cause.ops == (("StatefulPartitionedCall/StopGradient", "StopGradient"),)
        assert "The lines of code that made these ops are not in the file: breaks are named by their ops." in report.notes
        text = tapetrace.api.render_text(report)
        assert "  1  stop_gradient (StopGradient)    place not known\n     op     StatefulPartitionedCall/StopGradient\n" in text

    def test_lines_of_a_model_that_was_saved_with_them(self, located: Path) -> None:
        report = tapetrace.check(located, signature="train", loss="loss", variables=["cut"])
        (cause,) = report.root_causes
        assert cause.location is not None
        assert (cause.location.file, cause.location.function) == (__file__, "train")
        assert cause.location.code == "value = tf.reduce_sum(rows) * tf.stop_gradient(self.cut)"
        assert not any(note.startswith("The lines") for note in report.notes)

    def test_the_signature_that_is_meant(self, saved: Path, located: Path, tmp_path: Path) -> None:
        assert verdicts(tapetrace.check(saved, variables=["gain", "cut"])) == {"gain": "connected", "cut": "none"}
        assert verdicts(tapetrace.check(saved, variables=["x"])) == {"": "connected"}
        with pytest.raises(UsageError, match=r"model has no signature or function 'trian', did you mean train\?"):
            tapetrace.check(saved, signature="trian")
        with pytest.raises(UsageError, match="has no signature, name a function of it with --signature: rows, serve, train"):
            tapetrace.check(located)
        model = Model()
        tf.saved_model.save(model, tmp_path / "two", signatures={"fit": model.train, "judge": model.serve})
        with pytest.raises(UsageError, match="has several signatures, name a function of it with --signature: fit, judge, rows, serve, train"):
            tapetrace.check(tmp_path / "two")

    def test_a_model_without_signatures(self, tmp_path: Path) -> None:
        class Bare(tf.Module):
            @tf.function
            def __call__(self, x: Any) -> Any:
                return x * 2.0

            @tf.function
            def other(self, x: Any) -> Any:
                return x * 2.0

        bare = Bare()
        for spec in (SPEC, tf.TensorSpec([2])):
            bare.other.get_concrete_function(spec)
        tf.saved_model.save(bare, tmp_path / "bare")
        with pytest.raises(UsageError, match="bare has no signature, name a function of it with --signature: other"):
            tapetrace.check(tmp_path / "bare")
        report = tapetrace.check(tmp_path / "bare", signature="other", variables=["x"])
        assert any(note.startswith("other was saved with 2 traces, of which the first was taken: ") for note in report.notes)

    def test_a_custom_gradient_that_was_not_saved_raises(self, tmp_path: Path) -> None:
        @tf.custom_gradient
        def double(x: Any) -> Any:
            return x * 2.0, lambda upstream: upstream * 2.0

        module = Model()
        module.cg = tf.function(lambda x: tf.reduce_sum(double(module.gain) * x), input_signature=[SPEC])
        tf.saved_model.save(module, tmp_path / "cg", signatures=module.cg)
        report = tapetrace.check(tmp_path / "cg", signature="cg", variables=["gain"])
        assert report.agreement.disagreed == ()

    @pytest.mark.parametrize("use_resource", [True, False])
    def test_a_model_of_tensorflow_1(self, use_resource: bool, tmp_path: Path) -> None:
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 3], name="x")
            first, second, other = (v1.get_variable(name, [3, 3], use_resource=use_resource) for name in ("first", "second", "other"))
            y = tf.matmul(x, first) @ tf.stop_gradient(second)
            session.run(v1.global_variables_initializer())
            builder = v1.saved_model.Builder(str(tmp_path / "old"))
            signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
            builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
            builder.save()
        assert other is not None
        found = verdicts(tapetrace.check(tmp_path / "old", variables=["first", "second"]))
        assert found == {"first": "connected", "second": "none"}
        assert {"first": "connected", "second": "none"}.items() <= verdicts(tapetrace.check(tmp_path / "old")).items()

    def test_an_exported_network(self, tmp_path: Path) -> None:
        network = keras.applications.MobileNetV2(weights=None, input_shape=(32, 32, 3), classes=3)
        network.export(tmp_path / "net", verbose=False)
        report = tapetrace.check(tmp_path / "net")
        found = verdicts(report)
        assert len(found) == len(network.trainable_variables)
        assert set(found.values()) == {"connected"}
        assert (report.agreement.checked, report.agreement.disagreed) == (len(found), ())
        assert "Conv1/kernel" in {path.split("/", 1)[-1] for path in found} | set(found)


def test_files_that_are_cut_short(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "cut").mkdir()
    whole = (saved / "saved_model.pb").read_bytes()
    (tmp_path / "cut" / "saved_model.pb").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TargetError, match=r"cut cannot be loaded as a SavedModel \(.*\), save it again"):
        tapetrace.check(tmp_path / "cut")
