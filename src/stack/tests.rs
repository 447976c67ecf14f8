use super::*;

const REAL: &str = "torch/optim/adamw.py(178): _init_group;\r\ntorch/optim/optimizer.py(517): wrapper;\r\n\
    verl/workers/actor/dp_actor.py(287): _optimizer_step;\r\nmain_ppo.py(64): <module>";

#[test]
fn frames_of_torch_end_with_semicolons() {
    let all: Vec<&str> = frames(REAL).collect();
    assert_eq!(
        all,
        [
            "torch/optim/adamw.py(178): _init_group",
            "torch/optim/optimizer.py(517): wrapper",
            "verl/workers/actor/dp_actor.py(287): _optimizer_step",
            "main_ppo.py(64): <module>"
        ]
    );
    assert_eq!(depth(REAL), 4);
}

#[test]
fn frames_of_memscope_are_lines() {
    let stack = "model.py(88): forward\ntrain.py(41): train_step\ntrain.py(12): <module>\n";
    assert_eq!(depth(stack), 3);
    assert_eq!(nth(stack, -1), Some("train.py(12): <module>"));
}

#[test]
fn a_semicolon_inside_a_frame_stays() {
    assert_eq!(frames("a;b.py(1): f;\r\nc.py(2): g").collect::<Vec<_>>(), ["a;b.py(1): f", "c.py(2): g"]);
    assert_eq!(folded("a;b.py(1): f;\r\nc.py(2): g"), "c.py(2): g;a,b.py(1): f");
}

#[test]
fn no_stack_has_no_frames() {
    for stack in ["", "\n", ";\r\n"] {
        assert_eq!(depth(stack), 0);
        assert_eq!(nth(stack, 1), None);
        assert_eq!(user_frame(stack), None);
        assert_eq!(folded(stack), "");
    }
}

#[test]
fn frames_are_counted_from_both_ends() {
    assert_eq!(nth(REAL, 1), Some("torch/optim/adamw.py(178): _init_group"));
    assert_eq!(nth(REAL, 2), Some("torch/optim/optimizer.py(517): wrapper"));
    assert_eq!(nth(REAL, 4), nth(REAL, -1));
    assert_eq!(nth(REAL, -4), nth(REAL, 1));
    for beyond in [0, 5, -5, i64::MAX, i64::MIN] {
        assert_eq!(nth(REAL, beyond), None);
    }
}

#[test]
fn the_user_frame_is_the_first_outside_of_the_framework() {
    assert_eq!(user_frame(REAL), Some("verl/workers/actor/dp_actor.py(287): _optimizer_step"));
    assert_eq!(user_frame("torch/_ops.py(1): __call__;\r\n<string>(1): <module>"), None);
}

#[test]
fn folded_begins_with_the_outermost_frame() {
    assert_eq!(
        folded(REAL),
        "main_ppo.py(64): <module>;verl/workers/actor/dp_actor.py(287): _optimizer_step;\
         torch/optim/optimizer.py(517): wrapper;torch/optim/adamw.py(178): _init_group"
    );
}

#[test]
fn choices_have_names() {
    for (name, choice) in [
        ("top", FrameChoice::Nth(1)),
        ("leaf", FrameChoice::Nth(-1)),
        ("user", FrameChoice::User),
        ("stack", FrameChoice::Stack),
    ] {
        assert_eq!(name.parse(), Ok(choice));
    }
    assert_eq!(FrameChoice::Stack.of(REAL), Some(REAL));
    assert_eq!(FrameChoice::Stack.of(""), None);
    let error = "Top".parse::<FrameChoice>().unwrap_err().to_string();
    assert_eq!(error, "'Top' is no frame, expected a number, 'top', 'leaf', 'user' or 'stack'");
}
