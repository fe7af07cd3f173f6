"""Model files of the reader, made by `training/train_reader.py`."""
