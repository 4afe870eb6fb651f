"""The values everything else speaks of: examples, units, explanations, their files and their errors.

Nothing here imports torch or another part of Veridical, so files can be read and drawn without loading a model.
"""
