"""Thin Beam transforms: elements are Arrow tables, kernels are pure functions of the layers below."""
