"""Scripts do their steps in order, until one answers."""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead
from balancer.http.origin import Origin
from balancer.matching.gates.leading import TURNS_MOST, led_to
from balancer.matching.gates.scripts import ScriptGate, variables_of
from balancer.matching.gates.verdicts import FORESEEN, PASSED, Asked, Deny, Go, NewPath, Reply, Verdict
from balancer.model.entry_points import HTTP
from balancer.model.redirects import UrlForm
from balancer.model.scripts import (
    AnswerWith,
    Comparing,
    Conditional,
    Criterion,
    FieldBeside,
    HostScript,
    OrderedEdits,
    RedirectFound,
    RewritePath,
    Script,
    SetVariable,
    Step,
)
from tests.questions import question_of

ORIGIN = Origin(peer="192.0.2.1", entry_point=HTTP)
EDITS = OrderedEdits(beside=(FieldBeside("X-A", "$host"),))


def judged(script: Script | HostScript, url: str = "http://shop.test/a?b=c") -> Verdict:
    return ScriptGate(script).judge(Asked(question_of(url).request, ORIGIN, False), _never)


def answered(*steps: Step, url: str = "http://shop.test/a?b=c") -> Reply:
    found = judged(Script(steps), url)
    assert isinstance(found, Reply)
    return found


def test_the_first_step_that_answers_ends_the_script() -> None:
    assert answered(AnswerWith(403), AnswerWith(404)).status == 403
    assert judged(Script((Conditional(Criterion("$arg_x"), (AnswerWith(403),)),))) is PASSED


def test_a_variable_that_a_condition_sets_is_known_behind_it() -> None:
    steps = (Conditional(Criterion("$arg_b", Comparing.EQUAL, "c"), (SetVariable("a", "yes"),)), AnswerWith(200, "$a"))
    assert answered(*steps).body == b"yes"
    assert answered(*steps, url="http://shop.test/").body == b""
    assert variables_of(steps) == {"a"}


def test_a_redirect_to_a_path_has_the_form_of_the_settings() -> None:
    assert answered(AnswerWith(301, "/x")).fields == ((b"Location", b"http://shop.test/x"),)
    found = judged(Script((AnswerWith(301, "/x"),), form=UrlForm(relative=True)))
    assert isinstance(found, Reply)
    assert found.fields == ((b"Location", b"/x"),)


def test_captures_are_encoded_where_the_client_encoded_anything() -> None:
    step = RedirectFound("^/(.*)$", "https://new.test/?p=$1")
    assert answered(step, url="http://shop.test/a%26b?c").fields == ((b"Location", b"https://new.test/?p=a%26b&c"),)
    assert answered(step, url="http://shop.test/a&b?c").fields == ((b"Location", b"https://new.test/?p=a&b&c"),)


def test_a_text_that_is_too_long_to_be_searched_is_refused() -> None:
    step = RedirectFound("(a|b|c|d|e|f|g|h)" * 10, "/x")
    assert judged(Script((step,)), "http://shop.test/" + "a" * 8000) == Deny(ErrorKind.TARGET_TOO_LONG)


def test_many_searches_of_one_request_are_refused_together() -> None:
    tests = [Criterion("$request_uri", Comparing.FOUND, f"[ab]*a[ab]{{60}}{number}") for number in range(100)]
    steps = tuple(Conditional(test, (AnswerWith(403),)) for test in tests)
    assert judged(Script(steps[:1]), "http://shop.test/" + "ab" * 400) is PASSED
    assert judged(Script(steps), "http://shop.test/" + "ab" * 400) == Deny(ErrorKind.TARGET_TOO_LONG)
    assert judged(Script(steps), "http://shop.test/ab") is PASSED


def test_a_text_that_repeats_what_a_client_sent_is_bounded() -> None:
    text, url = "$request_uri" * 100, "http://shop.test/" + "a" * 4000
    compared = Conditional(Criterion("$host", Comparing.EQUAL, text), ())
    for step in (AnswerWith(200, text), AnswerWith(301, text), SetVariable("a", text), compared):
        assert judged(Script((step,)), url) == Deny(ErrorKind.HEAD_TOO_LARGE)


def test_values_that_grow_with_each_line_are_refused() -> None:
    doubling = [SetVariable("a", "$a$a") for _ in range(20)]
    verdict = judged(Script((SetVariable("a", "a" * 16), *doubling, AnswerWith(200, "$a"))))
    assert verdict == Deny(ErrorKind.HEAD_TOO_LARGE)


def test_fields_of_requests_replace_those_of_the_client() -> None:
    found = judged(Script(request_fields=(("X-A", "$host"), ("X-B", ""))))
    assert isinstance(found, Go)
    assert (found.added, found.removed) == (((b"X-A", b"shop.test"),), frozenset({b"x-a", b"x-b"}))


def test_edits_go_with_the_request_and_with_the_answer() -> None:
    found = judged(Script(edits=EDITS))
    assert isinstance(found, Go)
    (editor,) = found.always
    request = question_of("http://shop.test/").request
    assert editor.edit(request, ORIGIN, ResponseHead(200, (), 0, b""), HeadEdit()).added == ((b"X-A", b"shop.test"),)
    reply = judged(Script((AnswerWith(302, "/x"),), edits=EDITS))
    assert isinstance(reply, Reply)
    assert (len(reply.editors), reply.is_of_host) == (1, False)


def test_a_script_of_the_host_edits_its_own_answers_alone() -> None:
    assert judged(HostScript(edits=EDITS)) is PASSED
    reply = judged(HostScript((AnswerWith(200),), EDITS))
    assert isinstance(reply, Reply)
    assert (len(reply.editors), reply.is_of_host) == (1, True)


def test_the_edits_of_the_last_condition_that_holds_count() -> None:
    other = OrderedEdits(beside=(FieldBeside("X-B", "1"),))
    found = judged(Script((Conditional(Criterion("$arg_b"), (), other),), edits=EDITS))
    assert isinstance(found, Go)
    request = question_of("http://shop.test/").request
    edit = found.always[0].edit(request, ORIGIN, ResponseHead(200, (), 0, b""), HeadEdit())
    assert edit.added == ((b"X-B", b"1"),)


def test_a_new_path_is_counted_unless_the_whole_host_changes_it() -> None:
    step = RewritePath("^/(.*)$", "/x/$1")
    assert judged(Script((step, AnswerWith(403)))) == NewPath(b"/x/a", 1)
    assert judged(HostScript((step,))) == NewPath(b"/x/a", 0)
    assert judged(Script((RewritePath("^/b", "/x"),))) is PASSED


def test_a_request_that_is_matched_anew_knows_what_its_client_sent() -> None:
    led = led_to(question_of("http://shop.test/a?b=c").request, NewPath(b"/x", TURNS_MOST), PASSED)
    asked = Asked(led, ORIGIN, False)
    reply = ScriptGate(Script((AnswerWith(200, "$uri $request_uri $args"),))).judge(asked, _never)
    assert isinstance(reply, Reply) and reply.body == b"/x /a?b=c b=c"
    assert ScriptGate(HostScript((AnswerWith(403),))).judge(asked, _never) is PASSED
    assert ScriptGate(Script((RewritePath("^/x", "/y"),))).judge(asked, _never) == Reply(500)


def _never(_: Verdict) -> None:
    raise AssertionError("a script never waits")


def test_explanations_may_ask() -> None:
    assert ScriptGate(Script()).describe() is FORESEEN
