"""Every family of keras.applications, its smallest member at the smallest size that it takes, with random weights and ten classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tests.models.networks import BATCH, LOGITS, Network

apps = keras.applications


def _family(make: Callable[..., keras.Model], size: int, **options: Any) -> Network:
    """``size``: height and width of the image in pixels."""

    def build() -> keras.Model:
        trunk = make(input_shape=(size, size, 3), weights=None, include_top=False, pooling="avg", **options)
        return keras.Model(trunk.input, keras.layers.Dense(10)(trunk.output), name=trunk.name)

    image = tf.TensorSpec([BATCH, size, size, 3], tf.float32)
    return Network(make.__name__, build, image, tf.TensorSpec([BATCH], tf.int32), LOGITS)


FAMILIES = {
    n.name: n
    for n in (
        _family(apps.MobileNet, 32, alpha=0.25),
        _family(apps.MobileNetV2, 32, alpha=0.35),
        _family(apps.MobileNetV3Small, 32, alpha=0.75),
        _family(apps.VGG16, 32),
        _family(apps.ResNet50, 32),
        _family(apps.ResNet50V2, 32),
        _family(apps.Xception, 71),
        _family(apps.EfficientNetB0, 32),
        _family(apps.EfficientNetV2B0, 32),
        _family(apps.ConvNeXtTiny, 32),
        _family(apps.InceptionV3, 75),
        _family(apps.DenseNet121, 32),
        _family(apps.NASNetMobile, 32),
        _family(apps.InceptionResNetV2, 75),
    )
}
"""The cheap ones first."""
