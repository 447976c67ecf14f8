//! What clap says about a command line that it cannot follow, in Chinese. A new version may say it differently;
//! then a test says so.

use super::phrase::Phrase;

/// Its lines.
pub(super) const TEXTS: &[Phrase] = &[
    ("error: {}", "错误：{}"),
    ("tip: {}", "提示：{}"),
    ("Usage: {}", "用法：{}"),
    ("For more information, try '{}'.", "更多信息见 '{}'。"),
    ("[possible values: {}]", "[可选的值：{}]"),
    ("unexpected argument '{}' found", "没有参数 '{}'"),
    ("unrecognized subcommand '{}'", "没有子命令 '{}'"),
    ("a value is required for '{}' but none was supplied", "'{}' 需要一个值"),
    ("invalid value '{}' for '{}': invalid digit found in string", "'{}' 不能用作 '{}' 的值：应为非负整数"),
    ("invalid value '{}' for '{}': {}", "'{}' 不能用作 '{}' 的值：{}"),
    ("invalid value '{}' for '{}'", "'{}' 不能用作 '{}' 的值"),
    ("the argument '{}' cannot be used multiple times", "参数 '{}' 只能给出一次"),
    ("the argument '{}' cannot be used with '{}'", "参数 '{}' 不能与 '{}' 一起使用"),
    ("the argument '{}' cannot be used with:", "参数 '{}' 不能与以下参数一起使用："),
    ("the following required arguments were not provided:", "缺少以下参数："),
    ("to pass '{}' as a value, use '{}'", "要把 '{}' 当作值，请写 '{}'"),
    ("a similar argument exists: '{}'", "有相近的参数：'{}'"),
    ("some similar arguments exist: {}", "有相近的参数：{}"),
    ("a similar value exists: '{}'", "有相近的值：'{}'"),
    ("some similar values exist: {}", "有相近的值：{}"),
    ("a similar subcommand exists: '{}'", "有相近的子命令：'{}'"),
    ("some similar subcommands exist: {}", "有相近的子命令：{}"),
];
