"""Gaussian processes: exact with SciPy's minimizer, sparse with Adam on minibatches, and natural gradients."""

import gpflow
import numpy as np
import tensorflow as tf

random = np.random.default_rng(2)
tf.random.set_seed(2)
x = random.uniform(size=(60, 1))
y = np.sin(6 * x) + 0.1 * random.normal(size=x.shape)

exact = gpflow.models.GPR((x, y), kernel=gpflow.kernels.SquaredExponential() + gpflow.kernels.Linear())
gpflow.optimizers.Scipy().minimize(exact.training_loss, exact.trainable_variables, options={"maxiter": 15})
print(f"{float(exact.training_loss()):.6g}")

sparse = gpflow.models.SVGP(gpflow.kernels.Matern52(), gpflow.likelihoods.Gaussian(), inducing_variable=x[:12].copy(), num_data=len(x))
gpflow.set_trainable(sparse.q_mu, False)
gpflow.set_trainable(sparse.q_sqrt, False)
batches = iter(tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(20))
loss = sparse.training_loss_closure(batches)
adam, natural = tf.optimizers.Adam(0.01), gpflow.optimizers.NaturalGradient(gamma=0.1)


@tf.function
def step() -> None:
    adam.minimize(loss, sparse.trainable_variables) if hasattr(adam, "minimize") else by_hand()
    natural.minimize(loss, [(sparse.q_mu, sparse.q_sqrt)])


def by_hand() -> None:
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(sparse.trainable_variables)
        value = loss()
    adam.apply_gradients(zip(tape.gradient(value, sparse.trainable_variables), sparse.trainable_variables, strict=True))


for _ in range(15):
    step()
print(f"{float(sparse.elbo((x, y))):.6g}")
