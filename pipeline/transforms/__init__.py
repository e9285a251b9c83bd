"""Thin Beam transforms: elements are Arrow tables, kernels are pure functions of the layers below.

Whoever imports any of them gets the coder of Arrow tables registered.
"""

from pipeline.transforms import coder

coder.register()
