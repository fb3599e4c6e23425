"""SavedModels, GraphDefs and Keras models from files, held against TensorFlow's answer for what was loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.errors import TargetError, TraceFailed, UsageError
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


@pytest.fixture(scope="module")
def definition() -> Any:
    """A TensorFlow 1 graph with an optimizer, a saver, both kinds of variables and a function."""
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        old = v1.get_variable("old", [3, 2], use_resource=False)
        new = v1.get_variable("new", [2, 2], use_resource=True)
        flat = v1.get_variable("flat", [2, 2], use_resource=True)
        v1.get_variable("idle", [2], use_resource=True)
        step = v1.train.get_or_create_global_step()
        inner = tf.function(lambda a: (a @ new, tf.round(flat)))
        hidden, rounded = inner(tf.stop_gradient(x @ old))
        loss = tf.identity(tf.reduce_sum(hidden**2) + tf.reduce_sum(rounded), name="total")
        v1.train.AdamOptimizer().minimize(loss, global_step=step)
        v1.train.Saver()
    return graph.as_graph_def()


@pytest.fixture(scope="module", params=["graph.pb", "graph.pbtxt"])
def graph_file(request: pytest.FixtureRequest, definition: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    tf.io.write_graph(definition, str(folder), request.param, as_text=request.param.endswith("txt"))
    return folder / str(request.param)


class TestGraphDef:
    def test_verdicts_are_those_of_tensorflow(self, graph_file: Path, definition: Any) -> None:
        report = tapetrace.check(graph_file, loss="total")
        assert verdicts(report) == {"old": "none", "new": "connected", "flat": "none"}
        assert (report.agreement.checked, report.agreement.disagreed) == (3, ())
        assert [(s.name, s.kind, s.dtype, s.shape) for s in report.calls[0].sources] == [
            ("old", "variable", "float32", (3, 2)),
            ("new", "variable", "float32", (2, 2)),
            ("flat", "variable", "float32", (2, 2)),
        ]
        assert {data["type"] for node, data in report.graph.nodes(data=True) if data["role"] == "source"} == {"Variable"}
        with tf.Graph().as_default() as graph:
            tf.graph_util.import_graph_def(definition, name="")
            handles = [graph.get_tensor_by_name(f"{name}:0") for name in ("old", "new")]
            assert [g is None for g in tf.gradients(graph.get_tensor_by_name("total:0"), handles)] == [True, False]

    def test_the_loss_that_it_ends_in(self, graph_file: Path) -> None:
        report = tapetrace.check(graph_file)
        assert [t.name for t in report.calls[0].targets] == ["total"]
        assert "The output total was taken as loss: it is the only float scalar; --loss names another." in report.notes

    def test_variables_by_name(self, graph_file: Path) -> None:
        found = verdicts(tapetrace.check(graph_file, loss="total", variables=["o*", "idle", "new/Adam*"]))
        assert found == {"old": "none", "idle": "none", "new/Adam": "none", "new/Adam_1": "none"}
        (source,) = tapetrace.check(graph_file, loss="total", variables=["x"]).calls[0].sources
        assert (source.name, source.verdict.value, source.cause.value if source.cause else "") == ("x:0", "none", "stop_gradient")

    @pytest.mark.parametrize(
        ("asked", "words"),
        [
            ({"loss": "totl"}, r"has no output or tensor named 'totl', did you mean total\?"),
            ({"loss": "0"}, "has no output 0, its outputs have no numbers, give a name"),
            ({"loss": "total", "variables": ["nwe"]}, r"has no variable, input or tensor named 'nwe', did you mean new\?"),
            ({"loss": "total", "signature": "train"}, "is a GraphDef and has no signature 'train': leave --signature out"),
        ],
    )
    def test_wrong_names(self, graph_file: Path, asked: dict[str, Any], words: str) -> None:
        with pytest.raises(UsageError, match=words):
            tapetrace.check(graph_file, **asked)

    @pytest.mark.parametrize("use_resource", [True, False])
    def test_what_reads_a_variable_is_open(self, use_resource: bool, tmp_path: Path) -> None:
        with tf.Graph().as_default() as graph:
            x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
            weight = tf.compat.v1.get_variable("weight", [3, 2], use_resource=use_resource)
            table = tf.compat.v1.get_variable("table", [5, 2], use_resource=use_resource)
            tf.reduce_sum(tf.matmul(x, weight) + tf.nn.embedding_lookup(table, [1]), name="loss")
            tf.reduce_sum(tf.stop_gradient(tf.matmul(x, weight)), name="cut")
        tf.io.write_graph(graph, str(tmp_path), "two.pb", as_text=False)
        assert verdicts(tapetrace.check(tmp_path / "two.pb", loss="loss")) == {"weight": "connected", "table": "connected"}
        report = tapetrace.check(tmp_path / "two.pb", loss="cut", variables=["weight"])
        assert verdicts(report) == {"weight": "none"}
        assert report.root_causes[0].reconnects == ("weight",)

    def test_what_initializes_a_variable_is_no_path_to_it(self, tmp_path: Path) -> None:
        with tf.Graph().as_default() as graph:
            first = tf.compat.v1.get_variable("first", [], use_resource=True)
            second = tf.compat.v1.Variable(first * 2.0, name="second", use_resource=True)
            tf.identity(second * 3.0, name="loss")
        tf.io.write_graph(graph, str(tmp_path), "two.pb", as_text=False)
        report = tapetrace.check(tmp_path / "two.pb", loss="loss", variables=["first", "second"])
        assert [(s.name, s.verdict.value, s.cause and s.cause.value) for s in report.calls[0].sources] == [
            ("first", "none", "unused_result"),
            ("second", "connected", None),
        ]

    def test_a_loss_must_be_named_among_several(self, tmp_path: Path) -> None:
        with tf.Graph().as_default() as graph:
            weight = tf.compat.v1.get_variable("weight", [], use_resource=True)
            tf.multiply(weight, 2.0, name="one")
            tf.multiply(weight, 3.0, name="other")
        tf.io.write_graph(graph, str(tmp_path), "two.pb", as_text=False)
        with pytest.raises(TraceFailed, match=r"does not say which tensor is the loss, name it with --loss: it ends in .*one, other"):
            tapetrace.check(tmp_path / "two.pb")

    def test_a_loop_of_tensorflow_1_is_refused(self, tmp_path: Path) -> None:
        tf.compat.v1.disable_control_flow_v2()
        try:
            with tf.Graph().as_default() as graph:
                tf.compat.v1.while_loop(lambda i: i < 3.0, lambda i: i * 2.0, [tf.constant(1.0)])
        finally:
            tf.compat.v1.enable_control_flow_v2()
        tf.io.write_graph(graph, str(tmp_path), "loop.pb", as_text=False)
        with pytest.raises(TargetError, match=r"holds a loop of TensorFlow 1 \(while/NextIteration\), which is not analysed"):
            tapetrace.check(tmp_path / "loop.pb")

    def test_conditionals_of_tensorflow_1_and_a_note_of_them(self, tmp_path: Path) -> None:
        tf.compat.v1.disable_control_flow_v2()
        try:
            with tf.Graph().as_default() as graph:
                a, b = (tf.compat.v1.get_variable(name, [], use_resource=True) * 1.0 for name in "ab")
                chosen = tf.cond(tf.compat.v1.placeholder(tf.bool, []), lambda: a * 2.0, lambda: tf.stop_gradient(b))
                tf.identity(chosen, name="loss")
        finally:
            tf.compat.v1.enable_control_flow_v2()
        tf.io.write_graph(graph, str(tmp_path), "cond.pb", as_text=False)
        report = tapetrace.check(tmp_path / "cond.pb", loss="loss")
        assert verdicts(report) == {"a": "connected", "b": "none"}
        assert report.agreement.disagreed == ()
        assert any(note.startswith("The graph holds conditionals of TensorFlow 1 (Merge)") for note in report.notes)

    def test_an_op_that_is_not_known(self, tmp_path: Path) -> None:
        (tmp_path / "odd.pbtxt").write_text('node { name: "a" op: "NoSuchOp" }')
        with pytest.raises(TargetError, match=r"odd.pbtxt cannot be imported as a graph \(.*NoSuchOp"):
            tapetrace.check(tmp_path / "odd.pbtxt")


@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning")  # Keras, when it saves
class TestKeras:
    @pytest.fixture
    def network(self) -> Any:
        return keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, name="first"), keras.layers.Dense(1, name="last")])

    def test_a_compiled_model(self, network: Any, tmp_path: Path) -> None:
        network.compile(optimizer="sgd", loss="mse")
        network.save(tmp_path / "net.keras")
        report = tapetrace.check(tmp_path / "net.keras", specs=["float32[2,4]", "float32[2,1]"])
        assert set(verdicts(report).values()) == {"connected"}
        assert report.calls[0].kind == "gradient"
        assert (report.agreement.checked, report.agreement.disagreed) == (4, ())

    def test_a_model_that_is_not_compiled(self, network: Any, tmp_path: Path) -> None:
        network.save(tmp_path / "net.keras")
        with pytest.raises(TargetError, match="is not compiled"):
            tapetrace.check(tmp_path / "net.keras")


Spoil = Callable[[Path], Any]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.pb", b"", "empty.pb holds no op: write the graph again with tf.io.write_graph"),
        ("text.pb", b"a text\n" * 9, "text.pb is no GraphDef in binary form, or it is cut short"),
        ("text.pbtxt", b"a text\n" * 9, "text.pbtxt is no GraphDef as text, or it is cut short"),
        ("bytes.pbtxt", bytes(range(256)), "bytes.pbtxt is no GraphDef as text, or it is cut short"),
        ("text.keras", b"a text\n", "text.keras is no Keras model, or it is cut short: write it again with model.save"),
        ("model/saved_model.pb", b"", "model cannot be loaded as a SavedModel"),
        ("model/saved_model.pb", b"a text\n" * 9, "model cannot be loaded as a SavedModel"),
    ],
)
def test_files_that_are_no_graph(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    with pytest.raises(TargetError) as raised:
        tapetrace.check(file if file.name != "saved_model.pb" else file.parent)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_files_that_are_cut_short(saved: Path, graph_file: Path, tmp_path: Path) -> None:
    (tmp_path / "cut").mkdir()
    whole = (saved / "saved_model.pb").read_bytes()
    (tmp_path / "cut" / "saved_model.pb").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TargetError, match=r"cut cannot be loaded as a SavedModel \(.*\), save it again"):
        tapetrace.check(tmp_path / "cut")
    whole = graph_file.read_bytes()
    (tmp_path / graph_file.name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TargetError, match="or it is cut short"):
        tapetrace.check(tmp_path / graph_file.name)
