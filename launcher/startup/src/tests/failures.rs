use super::read;
use crate::Outcome;

fn assert_failed(log: &str, process: &str, error: &str) {
    let found = read(log);
    assert_eq!(found.outcome, Outcome::Failed, "{log}");
    let failure = found.failure.unwrap();
    assert_eq!(failure.error.as_deref(), Some(error), "{log}");
    assert_eq!(failure.process.map(|it| it.text()).unwrap_or_default(), process, "{log}");
}

#[test]
fn the_exception_of_a_traceback_is_the_last_word() {
    assert_failed(
        "(E pid=2) ERROR 11-21 02:00:01 [core.py:1] EngineCore failed to start.\n(E pid=2) ERROR 11-21 02:00:01 [core.py:1] Traceback (most recent call last):\n\
         (A pid=1) INFO 11-21 02:00:02 [x.py:1] x\n(E pid=2) ERROR 11-21 02:00:01 [core.py:1]   File \"a.py\", line 1, in b\n\
         (E pid=2) ERROR 11-21 02:00:01 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n\
         Traceback (most recent call last):\nRuntimeError: Engine core initialization failed.\n",
        "E pid=2",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    );
    assert_failed(
        "Traceback (most recent call last):\n  File \"a\"\nModuleNotFoundError: No module named 'vllm'",
        "",
        "ModuleNotFoundError: No module named 'vllm'",
    );
    assert_failed(
        "[2026-02-26 04:55:25 TP1] Scheduler hit an exception: Traceback (most recent call last):\n  File \"a.py\", line 1, in b\n\
         [2026-02-26 04:55:26 TP0] Load weight begin.\nRuntimeError: not enough memory\n[2026-02-26 04:55:27] Received sigquit from a child process.",
        "TP1",
        "RuntimeError: not enough memory",
    );
}

#[test]
fn a_program_that_refuses_its_arguments_has_no_traceback() {
    let error = "vllm: error: unrecognized arguments: --foo";
    assert_failed(&format!("usage: vllm serve [options]\n{error}\n"), "", error);
    assert_failed("bash: line 1: vllm: command not found", "", "bash: line 1: vllm: command not found");
}

#[test]
fn an_error_without_an_exception_is_shown_but_not_the_end() {
    let found = read(
        "INFO 11-21 02:00:00 [a.py:1] non-default args: {}\nERROR 11-21 02:00:01 [a.py:1] cannot import a kernel\nINFO 11-21 02:00:05 [a.py:1] loading\n",
    );
    let failure = found.failure.unwrap();
    assert_eq!((found.outcome, failure.error.as_deref()), (Outcome::Unfinished, Some("cannot import a kernel")));
    assert_eq!(failure.last_line, "INFO 11-21 02:00:05 [a.py:1] loading");
}

#[test]
fn a_server_that_became_ready_did_not_fail() {
    let found = read(
        "INFO 11-21 02:00:00 [a.py:1] non-default args: {}\nTraceback (most recent call last):\nImportError: optional\nINFO 11-21 02:00:09 [a.py:1] Available routes are:\n",
    );
    assert_eq!((found.outcome, found.failure), (Outcome::Ready, None));
}

#[test]
fn a_container_that_starts_again_has_the_words_of_its_last_start() {
    let one = |error: &str| {
        format!(
            "(A pid=1) INFO 11-21 02:00:00 [a.py:1] non-default args: {{}}\n(A pid=1) Traceback (most recent call last):\n(A pid=1) ValueError: {error}\n"
        )
    };
    let log = one("first") + &one("second");
    assert_failed(&log, "A pid=1", "ValueError: second");
    assert_eq!(read(&log).log.earlier_starts, 1);
}
