//! What happens in the job: operators, the stacks they are called from, what they allocate.
//!
//! There is something to be found. Training keeps a copy of some logits of every step in a history
//! that nothing ever empties. Its peak is where the logits exist in two precisions together with
//! their log-softmax and its gradient. Rank 1 trains on longer sequences, so it peaks higher.
//! Generation holds its KV cache from the first step on, which is as it should be.

use super::Process;
use super::random::Random;
use super::stacks::Site;

/// A thread of the profiled process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thread {
    /// Runs Python.
    Main,
    /// Runs the backward pass; it has no Python stack.
    Backward,
    /// Takes launches from a queue and hands them to the device.
    Queue,
}

/// A call of an operator; a `cpu_op` event.
pub(crate) struct Op {
    pub(crate) name: String,
    pub(crate) thread: Thread,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) site: Option<Site>,
    /// Joins the operator with its gradient; -1 when it has none.
    pub(crate) sequence: i64,
    pub(crate) shaped: bool,
}

/// A kernel on its way from an operator through the task queue to the device.
pub(crate) struct Launch {
    pub(crate) kernel: &'static str,
    pub(crate) from: Thread,
    pub(crate) correlation: u64,
    pub(crate) enqueued: i64,
    pub(crate) dequeued: i64,
    pub(crate) dequeue_end: i64,
    pub(crate) kernel_end: i64,
}

/// Who manages the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pool {
    /// The allocator of torch_npu.
    Torch,
    /// The graph engine of CANN, below it.
    Cann,
}

/// A block of device memory.
pub(crate) struct Allocation {
    pub(crate) name: String,
    pub(crate) pool: Pool,
    pub(crate) bytes: u64,
    pub(crate) at: i64,
    pub(crate) free: Option<i64>,
    pub(crate) active_free: Option<i64>,
}

/// A Python function that ran.
pub(crate) struct PythonCall {
    pub(crate) site: Site,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// The forward and backward time of one sequence number.
pub(crate) struct Gradient {
    pub(crate) sequence: i64,
    pub(crate) forward: i64,
    pub(crate) backward: i64,
}

/// Everything that happens in one step, each list in the order in which it is logged.
#[derive(Default)]
pub(crate) struct Step {
    pub(crate) ops: Vec<Op>,
    pub(crate) launches: Vec<Launch>,
    pub(crate) allocations: Vec<Allocation>,
    pub(crate) python: Vec<PythonCall>,
    pub(crate) gradients: Vec<Gradient>,
}

/// A block that [`Run`] may free in the same step.
#[derive(Clone, Copy)]
struct Block(usize);

const HIDDEN: u64 = 2048;
const MLP: u64 = 6144;
const VOCABULARY: u64 = 32_000;
const MIB: u64 = 1 << 20;

/// The job of one process, step by step. It can be run again and gives the same steps.
pub(crate) struct Run {
    generates: bool,
    layers: u32,
    tokens: u64,
    random: Random,
    number: u32,
    now: i64,
    queue_free: i64,
    correlation: u64,
    sequence: i64,
    thread: Thread,
    site: Option<Site>,
    /// Names of the operators that run now, outermost first.
    running: Vec<&'static str>,
    /// Forward operators that wait for their gradient.
    tape: Vec<(i64, i64)>,
    step: Step,
}

impl Run {
    pub(crate) fn new(process: &Process<'_>) -> Self {
        Self {
            generates: process.generates(),
            layers: process.layers,
            tokens: if process.rank % 4 == 1 { 6656 } else { 4096 },
            random: Random::new(process.seed, process.role, process.rank),
            number: 0,
            now: process.start,
            queue_free: process.start,
            correlation: 1000,
            sequence: 0,
            thread: Thread::Main,
            site: None,
            running: Vec::new(),
            tape: Vec::new(),
            step: Step::default(),
        }
    }

    /// The time up to which it has run.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    pub(crate) fn next_step(&mut self) -> Step {
        let start = self.now;
        self.wait(20_000, 90_000);
        if self.generates {
            self.generate()
        } else {
            self.train()
        }
        self.wait(20_000, 90_000);
        let name = format!("ProfilerStep#{}", self.number);
        self.log_op(name, start, -1, false);
        self.number += 1;
        self.now = self.now.max(self.queue_free);
        self.wait(300_000, 900_000);
        std::mem::take(&mut self.step)
    }

    // ---- the two kinds of step ----

    fn train(&mut self) {
        let t = self.tokens;
        let input = self.at(Site::Batch, |r| r.copy_over(t * 8));
        let mut saved = vec![self.at(Site::Embedding, |r| r.embedding(t * HIDDEN * 2))];
        for _ in 0..self.layers {
            saved.extend(self.layer(t));
        }
        let logits = self.at(Site::Head, |r| r.linear(t * VOCABULARY * 2));
        let exact = self.at(Site::ToFloat, |r| r.copy_over(t * VOCABULARY * 4));
        let probs = self.at(Site::LogProb, |r| {
            r.op("aten::log_softmax", |r| r.leaf("aten::_log_softmax", t * VOCABULARY * 4))
        });
        let parts = ["aten::sub", "aten::exp", "aten::mul", "aten::mean"];
        let loss = self.at(Site::Loss, |r| parts.map(|name| r.leaf(name, t * 4)));
        // Nothing ever takes this out of the history: the leak.
        self.at(Site::History, |r| r.leaf("aten::clone", 64 * MIB));
        let grads = self.backward(saved, logits, exact, probs);
        self.optimize(grads);
        for block in loss {
            self.free(block);
        }
        self.free(input);
        self.graph_engine();
    }

    fn generate(&mut self) {
        if self.number == 0 {
            for _ in 0..2 * self.layers {
                let zeros = |r: &mut Self| r.op("aten::zeros", |r| r.leaf("aten::empty", 2048 * MIB));
                self.at(Site::KvCache, zeros);
            }
        }
        let t = self.tokens / 4;
        let input = self.at(Site::Batch, |r| r.copy_over(t * 8));
        let hidden = self.at(Site::Embedding, |r| r.embedding(t * HIDDEN * 2));
        for _ in 0..self.layers {
            for block in self.layer(t) {
                self.free(block);
            }
        }
        self.free(hidden);
        for _ in 0..2 {
            let batch = 256;
            let logits = self.at(Site::Head, |r| r.linear(batch * VOCABULARY * 2));
            let sorted = self.at(Site::TopK, |r| r.leaf("aten::sort", batch * VOCABULARY * 12));
            let probs = self.at(Site::Sampler, |r| r.leaf("aten::softmax", batch * VOCABULARY * 4));
            for block in [sorted, probs, logits] {
                self.free(block);
            }
        }
        self.free(input);
        self.graph_engine();
    }

    fn layer(&mut self, t: u64) -> Vec<Block> {
        vec![
            self.at(Site::Norm, |r| r.leaf("npu::npu_rms_norm", t * HIDDEN * 2)),
            self.at(Site::Qkv, |r| r.linear(t * HIDDEN * 6)),
            self.at(Site::Attention, |r| r.attention(t * HIDDEN * 2)),
            self.at(Site::Mlp, |r| r.linear(t * MLP * 4)),
            self.at(Site::Activation, |r| r.leaf("aten::silu", t * MLP * 2)),
            self.at(Site::Mlp, |r| r.linear(t * HIDDEN * 2)),
        ]
    }

    fn backward(&mut self, mut saved: Vec<Block>, logits: Block, exact: Block, probs: Block) -> Vec<Block> {
        let t = self.tokens;
        self.thread = Thread::Backward;
        let fine =
            self.gradient("LogSoftmaxBackward0", "aten::_log_softmax_backward_data", t * VOCABULARY * 4);
        self.free(probs);
        let coarse = self.gradient("ToCopyBackward0", "aten::_to_copy", t * VOCABULARY * 2);
        self.free(fine);
        self.free(exact);
        let mut weights = vec![self.gradient("MmBackward0", "aten::mm", VOCABULARY * HIDDEN * 2)];
        let mut flowing = self.gradient("MmBackward0", "aten::mm", t * HIDDEN * 2);
        self.free(coarse);
        self.free(logits);
        let names = [
            ("MmBackward0", "aten::mm", HIDDEN * MLP * 2),
            ("SiluBackward0", "aten::silu_backward", 0),
            ("MmBackward0", "aten::mm", HIDDEN * MLP * 4),
            ("NpuFusionAttentionBackward0", "npu::npu_fusion_attention_grad", 0),
            ("MmBackward0", "aten::mm", HIDDEN * HIDDEN * 6),
            ("NpuRmsNormBackward0", "npu::npu_rms_norm_backward", 0),
        ];
        for _ in 0..self.layers {
            for (function, op, weight) in names {
                let next = self.gradient(function, op, t * HIDDEN * 2);
                if weight > 0 {
                    weights.push(self.gradient(function, op, weight));
                }
                self.free(flowing);
                flowing = next;
                saved.pop().into_iter().for_each(|block| self.free(block));
            }
        }
        self.free(flowing);
        saved.pop().into_iter().for_each(|block| self.free(block));
        self.tape.clear();
        self.thread = Thread::Main;
        weights
    }

    fn optimize(&mut self, grads: Vec<Block>) {
        let bucket = self.at(Site::Reduce, |r| r.leaf("c10d::allreduce_", 2 * MIB));
        self.release_for_others(bucket);
        if self.number == 0 {
            for bytes in [VOCABULARY * HIDDEN * 4, HIDDEN * MLP * 12] {
                for _ in ["exp_avg", "exp_avg_sq"] {
                    self.at(Site::OptimizerState, |r| {
                        r.op("aten::zeros_like", |r| {
                            r.op("aten::empty_like", |r| r.leaf("aten::empty", bytes))
                        })
                    });
                }
            }
            self.unnamed(16 * MIB);
        }
        let root = self.at(Site::Optimizer, |r| {
            r.op("Optimizer.step#AdamW.step", |r| {
                r.bare("aten::_foreach_lerp_");
                let root = r.leaf("aten::_foreach_sqrt", VOCABULARY * HIDDEN * 4);
                r.bare("aten::_foreach_addcdiv_");
                root
            })
        });
        self.free(root);
        for grad in grads {
            self.free(grad);
        }
    }

    // ---- operators ----

    fn linear(&mut self, bytes: u64) -> Block {
        self.op("aten::linear", |r| r.op("aten::matmul", |r| r.leaf("aten::mm", bytes)))
    }

    fn embedding(&mut self, bytes: u64) -> Block {
        self.op("aten::embedding", |r| r.leaf("aten::index_select", bytes))
    }

    fn copy_over(&mut self, bytes: u64) -> Block {
        self.op("aten::to", |r| {
            r.op("aten::_to_copy", |r| {
                let block = r.op("aten::empty_strided", |r| r.allocate(bytes));
                r.bare("aten::copy_");
                block
            })
        })
    }

    /// Its workspace is allocated when the launch leaves the queue: after the operator has ended.
    fn attention(&mut self, bytes: u64) -> Block {
        self.op("npu::npu_fusion_attention", |r| {
            let block = r.allocate(bytes);
            r.launch("FlashAttentionScore", Some(48 * MIB));
            block
        })
    }

    /// An operator that allocates its result, and may launch a kernel.
    fn leaf(&mut self, name: &'static str, bytes: u64) -> Block {
        self.op(name, |r| {
            let block = r.allocate(bytes);
            // Not every kernel goes through the queue, and that keeps the file small.
            if r.random.below(3) == 0 {
                r.launch(kernel_of(name), None);
            }
            block
        })
    }

    /// An operator that works in place.
    fn bare(&mut self, name: &'static str) {
        self.op(name, |r| r.launch(kernel_of(name), None));
    }

    /// The node of the backward pass that belongs to the newest operator on the tape.
    fn gradient(&mut self, function: &'static str, name: &'static str, bytes: u64) -> Block {
        if let Some((sequence, forward)) = self.tape.pop() {
            self.step.gradients.push(Gradient { sequence, forward, backward: self.now });
        }
        self.op(function, |r| r.leaf(name, bytes))
    }

    fn op<T>(&mut self, name: &'static str, body: impl FnOnce(&mut Self) -> T) -> T {
        let start = self.now;
        let outermost = self.running.is_empty();
        let mut sequence = -1;
        if outermost && !self.generates && self.thread == Thread::Main {
            self.sequence += 1;
            sequence = self.sequence;
            self.tape.push((sequence, start));
        }
        self.running.push(name);
        self.wait(2_000, 9_000);
        let out = body(self);
        self.wait(1_500, 6_000);
        self.running.pop();
        let shaped = self.random.below(2) == 0;
        self.log_op(name.to_owned(), start, sequence, shaped);
        self.wait(500, 3_000);
        out
    }

    fn log_op(&mut self, name: String, start: i64, sequence: i64, shaped: bool) {
        let (thread, site) = (self.thread, self.site);
        self.step.ops.push(Op { name, thread, start, end: self.now, site, sequence, shaped });
    }

    /// Runs Python code at a place; operators that are called in it get its stack.
    fn at<T>(&mut self, site: Site, body: impl FnOnce(&mut Self) -> T) -> T {
        let start = self.now;
        self.wait(1_000, 4_000);
        self.site = Some(site);
        let out = body(self);
        self.site = None;
        self.wait(500, 2_000);
        self.step.python.push(PythonCall { site, start, end: self.now });
        out
    }

    fn launch(&mut self, kernel: &'static str, workspace: Option<u64>) {
        self.correlation += 1;
        let enqueued = self.now;
        self.wait(150, 400);
        let dequeued = self.queue_free.max(enqueued + self.random.ns(18_000, 45_000));
        let dequeue_end = dequeued + self.random.ns(6_000, 12_000);
        let kernel_end = dequeue_end + self.random.ns(9_000, 80_000);
        self.queue_free = dequeue_end + 500;
        let (from, correlation) = (self.thread, self.correlation);
        let launch = Launch { kernel, from, correlation, enqueued, dequeued, dequeue_end, kernel_end };
        self.step.launches.push(launch);
        if let Some(bytes) = workspace {
            let block = self.allocate_at(dequeued + 1_500, Pool::Torch, bytes);
            self.set_free(block, kernel_end);
        }
    }

    // ---- memory ----

    fn allocate(&mut self, bytes: u64) -> Block {
        self.wait(200, 900);
        let block = self.allocate_at(self.now, Pool::Torch, bytes);
        self.wait(200, 900);
        block
    }

    fn allocate_at(&mut self, at: i64, pool: Pool, bytes: u64) -> Block {
        let name = self.running.last().copied().unwrap_or_default().to_owned();
        let bytes = bytes.next_multiple_of(512);
        self.step.allocations.push(Allocation { name, pool, bytes, at, free: None, active_free: None });
        Block(self.step.allocations.len() - 1)
    }

    fn free(&mut self, block: Block) {
        self.wait(100, 600);
        self.set_free(block, self.now);
    }

    fn set_free(&mut self, Block(block): Block, at: i64) {
        let before = self.random.ns(10, 1_230);
        if let Some(a) = self.step.allocations.get_mut(block) {
            a.free = Some(at);
            a.active_free = Some(at - before);
        }
    }

    /// The block's stream is done with it, but its tensor lives on: it becomes inactive only.
    fn release_for_others(&mut self, Block(block): Block) {
        self.wait(100, 600);
        if let Some(a) = self.step.allocations.get_mut(block) {
            a.active_free = Some(self.now);
        }
    }

    /// An allocation for which the profiler finds no operator.
    fn unnamed(&mut self, bytes: u64) {
        let block = self.allocate(bytes);
        self.wait(2_000, 9_000);
        self.free(block);
    }

    /// What the graph engine allocates by itself; it never returns the memory of a graph.
    fn graph_engine(&mut self) {
        for (name, kib) in [("cann::MatMulV2_12", 1281), ("cann::ReduceSum7", 64)] {
            let at = self.now;
            let free = Some(at + self.random.ns(9_000, 130_000));
            self.push_cann(name, kib, at, free);
            self.wait(2_000, 9_000);
        }
        if self.number == 0 {
            self.push_cann("cann::Graph_70", 3072, self.now, None);
        }
    }

    fn push_cann(&mut self, name: &str, kib: u64, at: i64, free: Option<i64>) {
        let (name, pool, bytes) = (name.to_owned(), Pool::Cann, kib * 1024);
        self.step.allocations.push(Allocation { name, pool, bytes, at, free, active_free: None });
    }

    fn wait(&mut self, from: i64, to: i64) {
        self.now += self.random.ns(from, to);
    }
}

/// What the device runs for an operator.
fn kernel_of(op: &str) -> &'static str {
    match op {
        "aten::mm" => "MatMulV2",
        "aten::index_select" => "GatherV2",
        "aten::silu" => "Swish",
        "aten::sort" => "Sort",
        "aten::softmax" | "aten::_log_softmax" => "LogSoftmaxV2",
        "npu::npu_rms_norm" => "RmsNorm",
        "c10d::allreduce_" => "hcom_allReduce_",
        _ => "Elementwise",
    }
}
