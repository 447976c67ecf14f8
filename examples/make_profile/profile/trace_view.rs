//! `trace_view.json`: one line, a list of events in the order in which the profiler writes them.
//!
//! Each block of events is made by running the whole job again, so memory does not grow with the
//! size of the file.

use std::fmt::Arguments;
use std::io::{self, Write};

use super::Process;
use super::stacks::Site;
use super::tables::kilo;
use super::workload::{Op, Run, Step, Thread};

/// The blocks of the file, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    /// Operators, in the order in which they ended.
    Ops,
    /// Both ends of the task queue, each with its flow.
    Queue,
    /// Names of processes and threads.
    Names,
    /// Flows from an operator to its gradient.
    Gradients,
    /// Python functions.
    Python,
    /// What the device did, and counters.
    Device,
    /// Flows from operators to kernels.
    Flows,
}

const BLOCKS: [Block; 7] =
    [Block::Ops, Block::Queue, Block::Names, Block::Gradients, Block::Python, Block::Device, Block::Flows];

/// `1779785515000120.000`: nanoseconds as microseconds with three decimals.
pub(crate) fn us(ns: i64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// Writes the trace of the first `steps` steps.
pub(crate) fn write(process: &Process<'_>, steps: u32, out: &mut impl Write) -> io::Result<()> {
    let mut events = Events { process, out, separator: "[", kernels: 0 };
    for block in BLOCKS {
        if block == Block::Device {
            // The rest is a file of its own that was glued on; its comma has no blank.
            events.separator = ",";
        }
        if block == Block::Names {
            events.names()?;
            continue;
        }
        let mut run = Run::new(process);
        for _ in 0..steps {
            events.step(block, &run.next_step())?;
        }
    }
    events.out.write_all(b"]")
}

/// How many steps it takes until the trace has at least this many bytes.
pub(crate) fn steps_for(process: &Process<'_>, bytes: u64) -> io::Result<u32> {
    let mut size = Size(0);
    let mut events = Events { process, out: &mut size, separator: ", ", kernels: 0 };
    let mut run = Run::new(process);
    let mut steps = 0;
    while events.out.0 < bytes {
        let step = run.next_step();
        for block in BLOCKS.into_iter().filter(|&block| block != Block::Names) {
            events.step(block, &step)?;
        }
        steps += 1;
    }
    Ok(steps)
}

struct Size(u64);

impl Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Events<'a, W> {
    process: &'a Process<'a>,
    out: &'a mut W,
    /// What goes before the next event.
    separator: &'static str,
    kernels: u64,
}

impl<W: Write> Events<'_, W> {
    fn event(&mut self, event: Arguments<'_>) -> io::Result<()> {
        self.out.write_all(self.separator.as_bytes())?;
        self.separator = ", ";
        self.out.write_fmt(event)
    }

    fn step(&mut self, block: Block, step: &Step) -> io::Result<()> {
        match block {
            Block::Ops => step.ops.iter().try_for_each(|op| self.op(op)),
            Block::Queue => self.queue(step),
            Block::Names => Ok(()),
            Block::Gradients => self.gradients(step),
            Block::Python => self.python(step),
            Block::Device => self.device(step),
            Block::Flows => self.flows(step),
        }
    }

    fn tid(&self, thread: Thread) -> u32 {
        let pid = self.process.pid();
        match thread {
            Thread::Main => pid,
            Thread::Backward => pid + 7001,
            Thread::Queue => pid + 9002,
        }
    }

    /// The process under which the device's part shows the device.
    fn device_pid(&self) -> u32 {
        3_089_232_288 + self.process.device() * 32
    }

    fn stack(&self, site: Site) -> String {
        // As `ensure_ascii=False` does: controls and quotes escaped, everything else as it is.
        serde_json::Value::from(site.stack(self.process.generates())).to_string()
    }

    fn op(&mut self, op: &Op) -> io::Result<()> {
        let (pid, tid) = (self.process.pid(), self.tid(op.thread));
        let forward = u32::from(op.thread == Thread::Backward);
        let mut args = format!("\"Sequence number\": {}, \"Fwd thread id\": {forward}", op.sequence);
        if op.shaped {
            args += ", \"Input Dims\": \"4096, 2048;\\r\\n2048, 6144;\\r\\n\"";
            args += ", \"Input type\": \"c10::BFloat16;\\r\\nc10::BFloat16;\\r\\nScalar\"";
        }
        if let Some(site) = op.site {
            args += &format!(", \"Call stack\": {}", self.stack(site));
        }
        self.event(format_args!(
            r#"{{"ph": "X", "name": "{}", "pid": {pid}, "tid": {tid}, "ts": "{}", "dur": {}, "cat": "cpu_op", "args": {{{args}}}}}"#,
            op.name, us(op.start), kilo(op.end - op.start)
        ))
    }

    fn queue(&mut self, step: &Step) -> io::Result<()> {
        let pid = self.process.pid();
        let cat = r#""cat": "async_task_queue""#;
        for launch in &step.launches {
            let (id, kernel) = (launch.correlation, launch.kernel);
            for (end, phase, at, until, thread) in [
                ("Dequeue", "f", launch.dequeued, launch.dequeue_end, Thread::Queue),
                ("Enqueue", "s", launch.enqueued, launch.enqueued + 120, launch.from),
            ] {
                let (tid, ts, dur, lower) = (self.tid(thread), us(at), kilo(until - at), end.to_lowercase());
                self.event(format_args!(
                    r#"{{"ph": "X", "name": "{end}@{kernel}", "pid": {pid}, "tid": {tid}, "ts": "{ts}", "dur": {dur}, "cat": "{lower}", "args": {{"correlation_id": {id}}}}}"#
                ))?;
                self.event(format_args!(
                    r#"{{"ph": "{phase}", "bp": "e", "name": "enqueue_to_dequeue", "id": {id}, "pid": {pid}, "tid": {tid}, "ts": "{ts}", {cat}}}"#
                ))?;
            }
        }
        Ok(())
    }

    fn names(&mut self) -> io::Result<()> {
        let pid = self.process.pid();
        self.event(format_args!(
            r#"{{"ph": "M", "name": "process_name", "pid": {pid}, "tid": 0, "args": {{"name": "Python"}}}}"#
        ))?;
        for thread in [Thread::Main, Thread::Backward, Thread::Queue] {
            let tid = self.tid(thread);
            self.event(format_args!(
                r#"{{"ph": "M", "name": "thread_name", "pid": {pid}, "tid": {tid}, "args": {{"name": "Thread {tid}"}}}}"#
            ))?;
        }
        Ok(())
    }

    fn gradients(&mut self, step: &Step) -> io::Result<()> {
        let pid = self.process.pid();
        for gradient in &step.gradients {
            let id = gradient.sequence;
            for (phase, at, thread) in
                [("s", gradient.forward, Thread::Main), ("f", gradient.backward, Thread::Backward)]
            {
                let (tid, ts) = (self.tid(thread), us(at));
                self.event(format_args!(
                    r#"{{"ph": "{phase}", "bp": "e", "name": "fwdbwd", "id": {id}, "pid": {pid}, "tid": {tid}, "ts": "{ts}", "cat": "fwdbwd"}}"#
                ))?;
            }
        }
        Ok(())
    }

    fn python(&mut self, step: &Step) -> io::Result<()> {
        let (pid, tid) = (self.process.pid(), self.tid(Thread::Main));
        for (call, id) in step.python.iter().zip(1_u32..) {
            let stack = call.site.stack(self.process.generates());
            let name = stack.split(";\r\n").next().unwrap_or_default();
            let (ts, dur) = (us(call.start), kilo(call.end - call.start));
            self.event(format_args!(
                r#"{{"ph": "X", "name": "{name}", "pid": {pid}, "tid": {tid}, "ts": "{ts}", "dur": {dur}, "cat": "python_function", "args": {{"Python id": {id}, "Python parent id": 0}}}}"#
            ))?;
        }
        Ok(())
    }

    fn device(&mut self, step: &Step) -> io::Result<()> {
        let (pid, host, main) = (self.device_pid(), self.process.pid(), self.tid(Thread::Main));
        for launch in &step.launches {
            self.kernels += 1;
            let (n, kernel, id) = (self.kernels, launch.kernel, launch.correlation << 32);
            let (ts, from) = (us(launch.dequeue_end), us(launch.dequeued));
            let dur = kilo(launch.kernel_end - launch.dequeue_end);
            self.event(format_args!(
                r#"{{"name": "{kernel}_{n}", "pid": {pid}, "tid": 2, "ts": "{ts}", "dur": {dur}, "args": {{"Model Id": 4294967295, "Task Type": "AI_CORE", "Stream Id": 2, "Task Id": {n}, "connection_id": {n}}}, "ph": "X"}}"#
            ))?;
            self.event(format_args!(
                r#"{{"name": "HostToDevice{id}", "ph": "s", "cat": "HostToDevice", "id": "{id}", "pid": {host}, "tid": {main}, "ts": "{from}"}}"#
            ))?;
            self.event(format_args!(
                r#"{{"name": "HostToDevice{id}", "ph": "f", "id": "{id}", "ts": "{ts}", "cat": "HostToDevice", "pid": {pid}, "tid": 2, "bp": "e"}}"#
            ))?;
            if n % 4 == 0 {
                let read = (n * 7919 % 90_000) as f64 / 8.0;
                self.event(format_args!(
                    r#"{{"name": "HBM 0/Read", "ts": "{ts}", "pid": {}, "tid": 0, "args": {{"Read(MB/s)": {read:?}}}, "ph": "C"}}"#,
                    pid + 5
                ))?;
            }
        }
        Ok(())
    }

    fn flows(&mut self, step: &Step) -> io::Result<()> {
        let (pid, device) = (self.process.pid(), self.device_pid());
        for launch in &step.launches {
            let (id, tid, ts) = (us(launch.dequeue_end), self.tid(launch.from), us(launch.enqueued));
            self.event(format_args!(
                r#"{{"ph": "s", "bp": "e", "name": "torch_to_npu", "id": "{id}", "pid": {pid}, "tid": {tid}, "ts": "{ts}", "cat": "async_npu"}}"#
            ))?;
            self.event(format_args!(
                r#"{{"ph": "f", "bp": "e", "name": "torch_to_npu", "id": "{id}", "pid": {device}, "tid": 2, "ts": "{id}", "cat": "async_npu"}}"#
            ))?;
        }
        Ok(())
    }
}
