/**
 * Which traces are kept: the samplers of OpenTelemetry's variables `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`
 * (OpenTelemetry specification, "Environment Variable Specification" and "TraceIdRatioBased").
 *
 * Not here: how traces are made and exported.
 */

import * as Result from "effect/Result"

/** Whether a trace is kept. */
export interface Sampler {
  /** Whether the decision of the one who began the trace counts more. */
  readonly followsParent: boolean
  /** The part of traces that is kept, from 0 to 1. */
  readonly ratio: number
}

/** The sampler where none is named. */
export const defaultSampler: Sampler = { followsParent: true, ratio: 1 }

const samplers: ReadonlyMap<string, Omit<Sampler, "ratio"> & { readonly ratio: number | undefined }> = new Map([
  ["always_on", { followsParent: false, ratio: 1 }],
  ["always_off", { followsParent: false, ratio: 0 }],
  ["traceidratio", { followsParent: false, ratio: undefined }],
  ["parentbased_always_on", { followsParent: true, ratio: 1 }],
  ["parentbased_always_off", { followsParent: true, ratio: 0 }],
  ["parentbased_traceidratio", { followsParent: true, ratio: undefined }]
])

/** A variable that cannot be used: which, and what would be right. */
export interface SamplerMistake {
  readonly field: "OTEL_TRACES_SAMPLER" | "OTEL_TRACES_SAMPLER_ARG"
  readonly cure: string
}

const ratioOf = (text: string): number | undefined => {
  const ratio = /^(?:0|1|[01]?\.\d{1,12}|1\.0+)$/u.test(text) ? Number(text) : undefined
  return ratio === undefined || ratio > 1 ? undefined : ratio
}

/** The sampler that the two variables name. */
export const parseSampler = (
  name: string | undefined,
  argument: string | undefined
): Result.Result<Sampler, SamplerMistake> => {
  const known = name === undefined ? defaultSampler : samplers.get(name)
  if (known === undefined)
    return Result.fail({ field: "OTEL_TRACES_SAMPLER", cure: `name one of ${[...samplers.keys()].join(", ")}` })
  const { followsParent } = known
  if (known.ratio !== undefined) return Result.succeed({ followsParent, ratio: known.ratio })
  const ratio = argument === undefined ? 1 : ratioOf(argument)
  return ratio === undefined
    ? Result.fail({ field: "OTEL_TRACES_SAMPLER_ARG", cure: "set it to a number from 0 to 1, such as 0.25" })
    : Result.succeed({ followsParent, ratio })
}

/** The hex digits at a trace id's end that are random (W3C Trace Context Level 2, random-trace-id flag): 56 bits. */
const randomDigits = 14

/** Whether a trace is kept. `traceId`: 32 hex digits; `parent`: the decision of the one who began the trace, if any. */
export const isSampled = ({ followsParent, ratio }: Sampler, traceId: string, parent: boolean | undefined): boolean =>
  followsParent && parent !== undefined
    ? parent
    : Number.parseInt(traceId.slice(-randomDigits), 16) < ratio * 16 ** randomDigits
