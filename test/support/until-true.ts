import { until } from "./until.ts"

/** Waits until something is true. */
export const untilTrue = async (what: string, look: () => boolean | Promise<boolean>): Promise<void> => {
  await until(what, async () => ((await look()) ? true : undefined))
}
