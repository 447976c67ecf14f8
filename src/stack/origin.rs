//! Whose code a frame belongs to: the user's, or that of Python, of an installed package, of a
//! framework.
//!
//! A frame is `path(line): function`. The profiler of torch cuts the directories of `sys.path` off,
//! so most paths are relative and begin with the name of a package; what is left absolute tells by
//! `site-packages`, or by the checkout that it lies in. RL programs themselves (verl and its like)
//! count as the user's code: they are what a user edits and what a question is about.

use super::frames;

/// Packages that are not the user's code, sorted.
const FRAMEWORKS: &[&str] = &[
    "accelerate",
    "acl",
    "apex",
    "auto_gptq",
    "datasets",
    "deepspeed",
    "diffusers",
    "fairscale",
    "flash_attn",
    "functorch",
    "huggingface_hub",
    "hydra",
    "jax",
    "lightning",
    "lightning_fabric",
    "megatron",
    "mindspeed",
    "mindspore",
    "mindtorch",
    "msprobe",
    "numpy",
    "omegaconf",
    "pandas",
    "peft",
    "pytorch_lightning",
    "ray",
    "safetensors",
    "sglang",
    "tensordict",
    "tokenizers",
    "torch",
    "torch_npu",
    "torchair",
    "torchaudio",
    "torchdata",
    "torchvision",
    "transformer_engine",
    "transformers",
    "triton",
    "vllm",
    "vllm_ascend",
    "xformers",
];

/// Modules of Python itself that show in stacks of training jobs, sorted.
const PYTHON: &[&str] = &[
    "__future__",
    "_bootstrap",
    "_bootstrap_external",
    "abc",
    "ast",
    "asyncio",
    "bdb",
    "collections",
    "concurrent",
    "contextlib",
    "copy",
    "copyreg",
    "ctypes",
    "dataclasses",
    "enum",
    "functools",
    "gc",
    "importlib",
    "inspect",
    "json",
    "linecache",
    "logging",
    "multiprocessing",
    "pdb",
    "pickle",
    "pickletools",
    "queue",
    "random",
    "re",
    "runpy",
    "selectors",
    "socketserver",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "tokenize",
    "traceback",
    "types",
    "typing",
    "unittest",
    "warnings",
    "weakref",
];

/// The first frame of the user's own code.
pub fn user_frame(stack: &str) -> Option<&str> {
    frames(stack).find(|frame| is_user_frame(frame))
}

/// Whether a frame is Python code outside of Python itself, installed packages and frameworks.
///
/// Frames that are not `path(line): function`, such as those of C++ code, are not.
pub fn is_user_frame(frame: &str) -> bool {
    let Some(path) = path_of(frame) else {
        return false;
    };
    if path.starts_with('<') {
        return path.starts_with("<ipython-input");
    }
    // `aten::zeros(0): kernel_launch` has the form, and is no file.
    if path.contains("::") || path.contains(" ") && !path.contains(['/', '\\']) {
        return false;
    }
    let parts = || path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".");
    if parts().any(|part| part == "site-packages" || part == "dist-packages" || is_library_of_python(part)) {
        return false;
    }
    if path.starts_with(['/', '\\']) {
        let checkouts = parts().zip(parts().skip(1));
        return !checkouts.into_iter().any(|(holder, package)| holds(holder, package));
    }
    let Some(first) = parts().next() else {
        return false;
    };
    !is_listed(FRAMEWORKS, stem(first)) && !is_listed(PYTHON, stem(first))
}

/// The part of `path(line): function` before the line.
fn path_of(frame: &str) -> Option<&str> {
    frame.match_indices('(').find_map(|(at, _)| {
        let (path, rest) = frame.split_at_checked(at)?;
        let (line, _) = rest.strip_prefix('(')?.split_once(')')?;
        let is_line = !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
        (is_line && !path.is_empty()).then_some(path)
    })
}

/// `python3.11` in `/usr/lib/python3.11/threading.py`.
fn is_library_of_python(part: &str) -> bool {
    part.strip_prefix("python").is_some_and(|version| {
        version.contains('.') && version.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    })
}

/// Whether this directory is a checkout with this framework in it: `vllm-ascend/vllm_ascend`,
/// `Megatron-LM/megatron`.
fn holds(checkout: &str, package: &str) -> bool {
    is_listed(FRAMEWORKS, package) && checkout.to_lowercase().replace('-', "_").starts_with(package)
}

fn stem(name: &str) -> &str {
    name.strip_suffix(".py").unwrap_or(name)
}

fn is_listed(sorted: &[&str], name: &str) -> bool {
    sorted.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        assert!(FRAMEWORKS.is_sorted());
        assert!(PYTHON.is_sorted());
    }

    #[test]
    fn code_of_the_user() {
        for frame in [
            "main_ppo.py(64): <module>",
            "./train.py(3): main",
            "verl/workers/actor/dp_actor.py(402): update_policy",
            "/home/用户/训练脚本/数据集.py(42): 取批次",
            "/home/me/my job (2)/train.py(3): main",
            "/work/torch/train.py(3): main",
            r"C:\jobs\train.py(3): main",
            "<ipython-input-3-abc>(1): <module>",
            "/tmp/ipykernel_77/123.py(1): <module>",
            "transformers_of_mine/model.py(9): forward",
        ] {
            assert!(is_user_frame(frame), "{frame}");
        }
    }

    #[test]
    fn code_of_others() {
        for frame in [
            "torch/nn/modules/linear.py(125): forward",
            "torch_npu/contrib/function/rms_norm.py(31): npu_rms_norm",
            "vllm_ascend/worker/worker_v1.py(310): initialize_from_config",
            "/usr/local/lib/python3.11/site-packages/verl/workers/fsdp_workers.py(765): update_actor",
            "/usr/lib/python3/dist-packages/yaml/loader.py(3): load",
            "/usr/lib/python3.11/threading.py(1045): _bootstrap_inner",
            "threading.py(1045): _bootstrap_inner",
            "concurrent/futures/thread.py(58): run",
            "/vllm-workspace/vllm/vllm/v1/sample/sampler.py(68): forward",
            "/vllm-workspace/vllm-ascend/vllm_ascend/sample/sampler.py(60): forward",
            "/opt/Megatron-LM/megatron/core/tensor_parallel/layers.py(9): forward",
            r"C:\py\Lib\site-packages\torch\x.py(3): main",
            "<string>(1): <module>",
            "<frozen runpy>(88): _run_code",
            "<built-in method empty of type object at 0x7f0>",
            "nn.Module: Linear_0",
            "aten::zeros(0): kernel_launch",
            "/opt/memscope/lib64/libleaks_ascend_hal_hook.so(halMemAlloc+0x118) [0x7f0000000118]",
            "",
        ] {
            assert!(!is_user_frame(frame), "{frame}");
        }
    }
}
