// What figures mean, in sentences. No DOM, no network, no clock.

import { summary } from "./figures.js";
import { age, number, percent } from "./texts.js";

// What a person should know first: one sentence, and how bad it is.
export function verdict(state, figures) {
  const zone = state.replica.own_zone;
  const now = summary(state);
  if (state.replica.problem) return { tone: "bad", text: `This replica is not ready: ${state.replica.problem}.` };
  if (!zone) return { tone: "warn", text: "This replica does not know its own zone, so zones cannot count." };
  const sick = figures.flatMap((each) => each.sick.filter((other) => other.is_left && !other.dry_run).map((other) => ({ ...other, name: each.name })));
  if (sick.length) {
    const worst = sick.reduce((most, each) => ((each.share ?? 0) > (most.share ?? 0) ? each : most));
    return { tone: "warn", text: `${worst.zone} is sick: ${percent(worst.share ?? 0)} of the requests for ${worst.name} avoid it.` };
  }
  if (now.errorShare > 0.01) return { tone: "bad", text: `${percent(now.errorShare)} of the requests get an error.` };
  if (now.requests === 0) return { tone: "calm", text: "No requests at the moment." };
  const leaving = figures.filter((each) => each.row.mode === "general" && each.remote > 0 && each.row.reason !== "off" && !each.row.dry_run);
  if (leaving.length) {
    const worst = leaving.reduce((most, each) => (each.remote > most.remote ? each : most));
    const who = leaving.length === 1 ? worst.name : `${leaving.length} Services`;
    return { tone: "warn", text: `${who} ${leaving.length === 1 ? "uses" : "use"} every zone. ${worst.row.reason_text}` };
  }
  if (now.localShare === null) return { tone: "calm", text: "No request reaches an endpoint." };
  if (now.localShare >= 0.995) return { tone: "good", text: `Every request stays in ${zone}.` };
  const tried = figures.filter((each) => each.row.tried_text && each.remote > 0).sort((a, b) => b.requests - a.requests);
  if (tried.length) {
    const more = tried.length > 1 ? ` (and ${tried.length - 1} more Services in a dry run)` : "";
    return { tone: "calm", text: `${tried[0].name}: ${tried[0].row.tried_text}${more}.` };
  }
  const off = figures.some((each) => each.row.reason === "off" && each.remote > 0);
  if (off) return { tone: "calm", text: "Zones do not count for some Services, so their requests go to every zone." };
  return { tone: "calm", text: `${percent(now.localShare)} of the requests stay in ${zone}.` };
}

// What is known about a zone whose answers fail, in words.
export function sickText(zone) {
  const failed = (bad, all) => (all ? `${percent((bad ?? 0) / all)} of ${number(all)} answers` : "no answer yet");
  const avoids = zone.dry_run ? `dry run: ${percent(zone.share ?? 0)} would avoid it` : `${percent(zone.share ?? 0)} of the requests avoid it${zone.staying ? ` (not those of ${zone.staying})` : ""}`;
  return `${zone.zone} (${zone.state}): ${avoids}, for ${age(zone.seconds ?? 0)}. Failed lately: ${failed(zone.failed, zone.answers)}; in other zones ${failed(zone.other_failed, zone.other_answers)}.`;
}
