//! Python call stacks, as the profiler writes them: innermost frame first, joined by `;\r\n`.

/// A place in the program that calls operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    Batch,
    Embedding,
    Norm,
    Qkv,
    Attention,
    Mlp,
    Activation,
    Head,
    ToFloat,
    LogProb,
    Loss,
    Optimizer,
    OptimizerState,
    Reduce,
    History,
    KvCache,
    Sampler,
    TopK,
}

impl Site {
    /// The stack of this place in a role that trains, or in one that generates.
    pub(crate) fn stack(self, generates: bool) -> String {
        let (entry, model) = if generates { (ROLLOUT, VLLM) } else { (ACTOR, QWEN) };
        let (own, through_model): (&[&str], bool) = match self {
            Site::Batch => (&["/home/用户/训练脚本/数据集.py(42): 取批次"], false),
            Site::Embedding => (
                &[
                    "torch/nn/functional.py(2551): embedding",
                    "torch/nn/modules/sparse.py(190): forward",
                    "torch/nn/modules/module.py(1786): _call_impl",
                ],
                true,
            ),
            Site::Norm => (&["torch_npu/contrib/function/rms_norm.py(31): npu_rms_norm"], true),
            Site::Qkv => (
                &[
                    "torch/nn/modules/linear.py(125): forward",
                    "torch/nn/modules/module.py(1786): _call_impl",
                    "transformers/models/qwen3/modeling_qwen3.py(241): forward",
                ],
                true,
            ),
            Site::Attention => (&["transformers/integrations/npu_flash_attention.py(88): forward"], true),
            Site::Mlp => (
                &[
                    "torch/nn/modules/linear.py(125): forward",
                    "torch/nn/modules/module.py(1786): _call_impl",
                    "transformers/models/qwen3/modeling_qwen3.py(81): forward",
                ],
                true,
            ),
            Site::Activation => (
                &[
                    "torch/nn/functional.py(2380): silu",
                    "transformers/models/qwen3/modeling_qwen3.py(81): forward",
                ],
                true,
            ),
            Site::Head => (
                &["torch/nn/modules/linear.py(125): forward", "torch/nn/modules/module.py(1786): _call_impl"],
                true,
            ),
            Site::ToFloat => (
                &[
                    "verl/utils/torch_functional.py(97): logprobs_from_logits_v2",
                    "verl/workers/actor/dp_actor.py(246): _forward_micro_batch",
                ],
                false,
            ),
            Site::LogProb => (
                &[
                    "torch/nn/functional.py(2248): log_softmax",
                    "verl/utils/torch_functional.py(104): logprobs_from_logits_v2",
                    "verl/workers/actor/dp_actor.py(246): _forward_micro_batch",
                ],
                false,
            ),
            Site::Loss => (&["verl/trainer/ppo/core_algos.py(812): compute_policy_loss"], false),
            Site::Optimizer => (
                &[
                    "torch/optim/adamw.py(412): _multi_tensor_adamw",
                    "torch/optim/optimizer.py(517): wrapper",
                    "verl/workers/actor/dp_actor.py(287): _optimizer_step",
                ],
                false,
            ),
            Site::OptimizerState => (
                &[
                    "torch/optim/adamw.py(178): _init_group",
                    "torch/optim/optimizer.py(517): wrapper",
                    "verl/workers/actor/dp_actor.py(287): _optimizer_step",
                ],
                false,
            ),
            Site::Reduce => (
                &[
                    "torch/distributed/distributed_c10d.py(2938): all_reduce",
                    "verl/workers/actor/dp_actor.py(281): _optimizer_step",
                ],
                false,
            ),
            Site::History => (
                &[
                    "verl/utils/metrics/history.py(58): remember",
                    "verl/workers/actor/dp_actor.py(436): update_policy",
                ],
                false,
            ),
            Site::KvCache => (
                &[
                    "vllm_ascend/worker/model_runner_v1.py(2604): initialize_kv_cache",
                    "vllm_ascend/worker/worker_v1.py(310): initialize_from_config",
                ],
                false,
            ),
            Site::Sampler => (
                &[
                    "vllm/v1/sample/sampler.py(167): compute_probs",
                    "vllm/v1/sample/sampler.py(68): forward",
                    "vllm_ascend/worker/model_runner_v1.py(1530): execute_model",
                ],
                false,
            ),
            Site::TopK => (
                &[
                    "vllm_ascend/sample/sampler.py(60): _apply_top_k_top_p",
                    "vllm/v1/sample/sampler.py(68): forward",
                    "vllm_ascend/worker/model_runner_v1.py(1530): execute_model",
                ],
                false,
            ),
        };
        let model = if through_model { model } else { &[] };
        let frames: Vec<&str> = own.iter().chain(model).chain(entry).copied().collect();
        frames.join(";\r\n")
    }
}

/// From the forward pass of the model to the training worker.
const QWEN: &[&str] = &[
    "transformers/models/qwen3/modeling_qwen3.py(467): forward",
    "torch/distributed/fsdp/fully_sharded_data_parallel.py(864): forward",
    "verl/workers/actor/dp_actor.py(231): _forward_micro_batch",
];

/// From the forward pass of the model to the inference engine.
const VLLM: &[&str] = &[
    "vllm/model_executor/models/qwen3.py(312): forward",
    "vllm_ascend/worker/model_runner_v1.py(1494): execute_model",
];

const ACTOR: &[&str] = &[
    "verl/workers/actor/dp_actor.py(402): update_policy",
    "verl/workers/fsdp_workers.py(765): update_actor",
    "verl/single_controller/base/decorator.py(540): inner",
    "main_ppo.py(64): <module>",
];

const ROLLOUT: &[&str] = &[
    "verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py(338): generate_sequences",
    "verl/workers/fsdp_workers.py(841): generate_sequences",
    "verl/single_controller/base/decorator.py(540): inner",
    "main_ppo.py(64): <module>",
];
