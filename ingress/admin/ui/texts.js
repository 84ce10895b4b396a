// Numbers, shares, money and durations as texts. No DOM, no network, no clock.

const plain = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const one = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const money = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const wholeMoney = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 0 });

export const NOTHING = "–";

export function number(value) {
  return value >= 100000 ? compact.format(value) : plain.format(value);
}

export function rateText(value) {
  if (value === 0) return "0";
  return value < 10 ? one.format(value) : number(value);
}

export function percent(share) {
  if (share === null || share === undefined) return NOTHING;
  const value = share * 100;
  if (value > 0 && value < 1) return "< 1 %";
  if (value > 99 && value < 100) return "> 99 %";
  return `${Math.round(value)} %`;
}

export function bytesText(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit ? one.format(value) : plain.format(value)} ${units[unit]}`;
}

export function dollars(value) {
  const size = Math.abs(value);
  if (size > 0 && size < 0.005) return value < 0 ? "−< $0.01" : "< $0.01";
  return (size >= 1000 ? wholeMoney : money).format(value);
}

export function secondsText(value) {
  if (value === null || value === undefined) return NOTHING;
  if (value < 0.001) return `${plain.format(value * 1e6)} µs`;
  if (value < 0.01) return `${one.format(value * 1e3)} ms`;
  return value < 1 ? `${plain.format(value * 1e3)} ms` : `${one.format(value)} s`;
}

export function age(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) return NOTHING;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} days`;
}

export function daysLeft(epochSeconds, now) {
  return Math.floor((epochSeconds - now) / 86400);
}
