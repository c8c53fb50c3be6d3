/**
 * Quantities such as `500m` and `1Gi`: comparison, and the form in which a server writes them (k8s.io/apimachinery
 * `resource.Quantity`). Exact, in integers, without floating point.
 */

import { Order } from "effect"

interface Quantity {
  readonly negative: boolean
  /** The absolute value in billionths, the smallest unit there is; anything finer is rounded up. */
  readonly nanos: bigint
  readonly form: "binary" | "decimal" | "exponent"
}

const pattern = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E)|[eE]([+-]?\d{1,2}))?$/

const decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
const binary = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]

const nano = 10n ** 9n

const parse = (text: string): Quantity | undefined => {
  const [, sign, digits, suffix = "", exponent = "0"] = pattern.exec(text.trim()) ?? []
  if (digits === undefined) return undefined
  const power = binary.indexOf(suffix)
  const shift = Number(exponent) + 3 * decimal.indexOf(suffix)
  const [whole = "", fraction = ""] = digits.split(".")
  const numerator =
    BigInt(whole + fraction) * (power > 0 ? nano * 1024n ** BigInt(power) : 10n ** BigInt(Math.max(shift, 0)))
  const denominator = 10n ** BigInt(fraction.length + (power > 0 ? 0 : Math.max(-shift, 0)))
  const decimalForm = /[eE]\S/.test(text) ? "exponent" : "decimal"
  return {
    negative: sign === "-",
    nanos: (numerator + denominator - 1n) / denominator,
    form: power > 0 ? "binary" : decimalForm
  }
}

/** Divides as long as there is no remainder, at most `limit` times. */
const divided = (value: bigint, by: bigint, limit: number): readonly [value: bigint, times: number] => {
  let [rest, times] = [value, 0]
  while (rest % by === 0n && times < limit) {
    rest /= by
    times++
  }
  return [rest, times]
}

/**
 * The quantity with the largest suffix that leaves no fraction, of the kind that was given: `1000m` → `1`, `1024Mi` →
 * `1Gi`. `undefined` if the text is no quantity.
 */
export const canonicalQuantity = (text: string): string | undefined => {
  const quantity = parse(text)
  if (quantity === undefined || quantity.nanos === 0n) return quantity && "0"
  const { nanos, form } = quantity
  const sign = quantity.negative ? "-" : ""
  // Less than one Ki, or a fraction: a server writes decimal suffixes even if binary suffixes were given.
  if (form === "binary" && nanos % nano === 0n && nanos >= 1024n * nano) {
    const [value, power] = divided(nanos / nano, 1024n, binary.length - 1)
    return `${sign}${value}${binary[power]}`
  }
  const [value, power] = divided(nanos, 1000n, form === "exponent" ? 40 : decimal.length - 1)
  if (form === "exponent") return `${sign}${value}${power === 3 ? "" : `e${3 * power - 9}`}`
  return `${sign}${value}${decimal[power]}`
}

const signed = (text: string): bigint => {
  const { negative, nanos } = parse(text) ?? { negative: false, nanos: 0n }
  return negative ? -nanos : nanos
}

/** Negative if `a` is less than `b`, 0 if both are equal. */
export const compareQuantities = (a: string, b: string): number => Order.BigInt(signed(a), signed(b))
