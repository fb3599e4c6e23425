"""GraphDefs from files, binary and as text, held against TensorFlow's answer for the imported graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.errors import TargetError, TraceFailed, UsageError
from tests.capture.finished_oracle import verdicts


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


def test_files_that_are_cut_short(graph_file: Path, tmp_path: Path) -> None:
    whole = graph_file.read_bytes()
    (tmp_path / graph_file.name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TargetError, match="or it is cut short"):
        tapetrace.check(tmp_path / graph_file.name)
