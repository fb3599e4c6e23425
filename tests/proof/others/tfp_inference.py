"""A variational posterior that is fitted, a Hamiltonian chain, and a distribution that is sampled: seeded, so that what is printed compares."""

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

tfd, tfb = tfp.distributions, tfp.bijectors

tf.keras.utils.set_random_seed(3)
data = tf.constant(np.random.default_rng(3).normal(1.5, 0.7, size=200).astype("float32"))


def log_joint(mean: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    prior = tfd.Normal(0.0, 3.0).log_prob(mean) + tfd.LogNormal(0.0, 1.0).log_prob(scale)
    return prior + tf.reduce_sum(tfd.Normal(mean[..., tf.newaxis], scale[..., tf.newaxis]).log_prob(data), axis=-1)


posterior = tfd.JointDistributionNamed(
    {
        "mean": tfd.Normal(tf.Variable(0.0, name="mean_loc"), tfp.util.TransformedVariable(1.0, tfb.Softplus(), name="mean_scale")),
        "scale": tfd.LogNormal(tf.Variable(0.0, name="scale_loc"), tfp.util.TransformedVariable(1.0, tfb.Softplus(), name="scale_scale")),
    }
)
optimizer = tf.keras.optimizers.Adam(0.05)


def elbo_step(jitted: bool) -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss = tfp.vi.monte_carlo_variational_loss(lambda mean, scale: log_joint(mean, scale), posterior, sample_size=8, seed=(1, 2))
    variables = posterior.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return loss


traced = tf.function(elbo_step)
for _step in range(20):
    print(f"{float(traced(True)):.6g}")
for _step in range(3):
    print(f"{float(elbo_step(False)):.6g}")

kernel = tfp.mcmc.SimpleStepSizeAdaptation(tfp.mcmc.HamiltonianMonteCarlo(lambda m: log_joint(m, tf.ones_like(m)), 0.05, 3), 40)
chain = tf.function(lambda: tfp.mcmc.sample_chain(30, tf.constant(0.5), kernel=kernel, num_burnin_steps=20, trace_fn=None, seed=(4, 5)))()
print(f"{float(tf.reduce_mean(chain)):.6g}")

found = tfp.optimizer.lbfgs_minimize(
    lambda m: tfp.math.value_and_gradient(lambda v: -log_joint(v[0], tf.nn.softplus(v[1])), m), tf.constant([0.0, 0.5])
)
print([f"{v:.5g}" for v in found.position.numpy()])

value, gradient = tfp.math.value_and_gradient(lambda x: tfd.Gamma(x, 2.0).sample(5, seed=(6, 7)), tf.constant(1.3))
print(value.numpy().round(5), f"{float(gradient):.5g}")
