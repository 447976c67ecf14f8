//! Random dumps: `step<N>/rank<R>/{dump,construct}.json`, with what collectors really write.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::random::Random;

/// What stands for a value that JSON has no word for, until the text is made.
const BARE: [(&str, &str); 3] = [("\"@nan\"", "NaN"), ("\"@inf\"", "Infinity"), ("\"@minus\"", "-Infinity")];

/// Writes a dump below `root`; the same for the same seed.
pub(super) fn write(seed: u64, root: &Path) {
    let mut random = Random::new(seed);
    let megatron = random.once_in(3);
    let first = random.below(4);
    let layers = 1 + random.below(4);
    let ranks: Vec<usize> = (0..4).filter(|_| !random.once_in(3)).collect();
    let ranks = if ranks.is_empty() { vec![0] } else { ranks };
    for step in 0..1 + random.below(3) {
        let number = first + step * (1 + random.below(2));
        for rank in &ranks {
            let directory = root.join(format!("step{number}/rank{rank}"));
            fs::create_dir_all(&directory).unwrap();
            let micro_steps = 1 + random.below(3);
            let (dump, construct) = files(&mut random, layers, micro_steps, megatron);
            fs::write(directory.join("dump.json"), text(&dump)).unwrap();
            fs::write(directory.join("construct.json"), text(&construct)).unwrap();
        }
    }
}

fn text(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap();
    BARE.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

fn files(random: &mut Random, layers: usize, micro_steps: usize, megatron: bool) -> (Value, Value) {
    let (mut data, mut construct) = (Map::new(), Map::new());
    if megatron {
        construct.insert("megatron_micro_step_number".to_owned(), json!(micro_steps));
    }
    let parent = |construct: &mut Map<String, Value>, key: &str, of: Option<&str>, micro: usize| {
        let value = match of {
            Some(of) if megatron => json!([of, micro]),
            Some(of) => json!(of),
            None => Value::Null,
        };
        construct.insert(key.to_owned(), value);
    };
    for micro in 0..micro_steps {
        let root = format!("Module.model.Model.forward.{micro}");
        for layer in 0..layers {
            let module = format!("Module.layers.{layer}.mlp.Linear");
            let key = format!("{module}.forward.{micro}");
            data.insert(key.clone(), forward(random));
            parent(&mut construct, &key, Some(&root), micro);
            if random.once_in(2) {
                let api = format!(
                    "Torch.{}.{}.forward",
                    random.pick(&["matmul", "add", "softmax"]),
                    micro * layers + layer
                );
                data.insert(api.clone(), forward(random));
                parent(&mut construct, &api, Some(&key), micro);
            }
            if random.once_in(2) {
                let key = format!("{module}.backward.{micro}");
                data.insert(key.clone(), backward(random));
                let above = format!("Module.model.Model.backward.{micro}");
                parent(&mut construct, &key, Some(&above), micro);
            }
            if micro + 1 == micro_steps && random.once_in(2) {
                let key = format!("{module}.parameters_grad");
                data.insert(key.clone(), json!({"weight": [tensor(random)], "bias": [tensor(random)]}));
                if random.once_in(2) {
                    parent(&mut construct, &key, None, micro);
                }
            }
        }
        data.insert(root.clone(), forward(random));
        parent(&mut construct, &root, None, micro);
        if random.once_in(2) {
            let key = format!("Module.model.Model.backward.{micro}");
            data.insert(key.clone(), backward(random));
            parent(&mut construct, &key, None, micro);
        }
    }
    let dump = json!({"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": null, "data": data});
    (dump, Value::Object(construct))
}

fn forward(random: &mut Random) -> Value {
    let mut entry = json!({"input_args": arguments(random), "input_kwargs": {}, "output": arguments(random)});
    if random.once_in(3) {
        entry["parameters"] = json!({"weight": tensor(random), "bias": tensor(random)});
    }
    if random.once_in(4) {
        entry["is_recompute"] = json!(random.once_in(2));
    }
    if random.once_in(6) {
        entry["input_kwargs"] = json!({"mask": tensor(random)});
    }
    entry
}

fn backward(random: &mut Random) -> Value {
    json!({"input": arguments(random), "output": arguments(random)})
}

fn arguments(random: &mut Random) -> Value {
    let count = random.below(4);
    (0..count)
        .map(|_| match random.below(8) {
            0 => Value::Null,
            1 => json!({"type": "int", "value": 3}),
            2 => json!([tensor(random)]),
            _ => tensor(random),
        })
        .collect()
}

fn tensor(random: &mut Random) -> Value {
    const TYPES: [&str; 5] =
        ["torch.Tensor", "torch.Tensor", "mindspore.Tensor", "mindtorch.Tensor", "torch.nn.Parameter"];
    const DTYPES: [&str; 6] =
        ["torch.float32", "torch.bfloat16", "Float16", "BFloat16", "torch.int64", "torch.bool"];
    let mut tensor = json!({"type": random.pick(&TYPES), "dtype": random.pick(&DTYPES), "shape": [2, 3]});
    for name in ["Max", "Min", "Mean", "Norm"] {
        if !random.once_in(12) {
            tensor[name] = value(random);
        }
    }
    tensor
}

fn value(random: &mut Random) -> Value {
    match random.below(20) {
        0 => json!("@nan"),
        1 => json!("@inf"),
        2 => json!("@minus"),
        3 => Value::Null,
        4 => json!(1e9 + 1.0),
        5 => json!(-3e38),
        6 => json!(1_000_000_000),
        7 => json!(true),
        8 => json!("0.5"),
        9 => json!(5e-324),
        10 => json!(-0.0),
        _ => json!(random.next() as i32 as f64 / 1024.0),
    }
}
