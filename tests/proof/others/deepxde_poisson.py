"""Poisson's equation in one dimension by a network whose second derivative by its input is trained, and an unknown coefficient beside it."""

import os
import random

import numpy as np

os.environ["DDE_BACKEND"] = "tensorflow"
random.seed(5)
np.random.seed(5)  # before the import: DeepXDE draws the seeds of its initializers then

import deepxde as dde  # noqa: E402

dde.config.set_random_seed(5)
coefficient = dde.Variable(0.5)


def equation(x, y):
    return -dde.grad.hessian(y, x) * coefficient - np.pi**2 * dde.backend.tf.sin(np.pi * x)


line = dde.geometry.Interval(-1, 1)
edge = dde.icbc.DirichletBC(line, lambda x: 0.0, lambda x, on_edge: on_edge)
points = np.linspace(-0.9, 0.9, 10)[:, None]
seen = dde.icbc.PointSetBC(points, np.sin(np.pi * points))
data = dde.data.PDE(line, equation, [edge, seen], 16, 2, solution=lambda x: np.sin(np.pi * x), num_test=20, train_distribution="uniform")
model = dde.Model(data, dde.nn.FNN([1, 20, 20, 1], "tanh", "Glorot uniform"))
model.compile("adam", lr=0.003, metrics=["l2 relative error"], external_trainable_variables=[coefficient], verbose=0)
history, _ = model.train(iterations=40, display_every=20, verbose=0)
print(np.array2string(np.array(history.loss_train), precision=5))
print(f"{float(coefficient):.5g}")
