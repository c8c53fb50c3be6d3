/**
 * The addresses from which tokens are taken: all, unless people name networks.
 *
 * Not here: networks (domain/policies/network-block.ts), and how often an address may ask (adapters/tunnel).
 */

import { quoted } from "../clean-text.ts"
import { parseNetworkBlock, reachesOnly } from "../policies/network-block.ts"
import { parseIp } from "../protocol/ip-address.ts"

/**
 * Why no token is taken from an address, a sentence without its end; `undefined` if one is. `ranges`: networks in CIDR
 * form; a text that is none has no address in it.
 */
export const whyOutside = (ranges: ReadonlyArray<string>, from: string): string | undefined => {
  if (ranges.length === 0) return undefined
  const address = parseIp(from)
  const isInside = ranges.some((range) => {
    const block = parseNetworkBlock(range)
    return block !== undefined && address !== undefined && reachesOnly({ block, except: [] }, address)
  })
  return isInside
    ? undefined
    : `this primary takes no tokens from ${quoted(from)}: operator.cell.bootstrapRanges are ${ranges.join(", ")}; ` +
        "add the address as the primary sees it, or dial from another one"
}
