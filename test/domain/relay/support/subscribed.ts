/** A world of three members that is past its handshake, for the tests of the rules of wire.md §8. */

import { mirror, steal } from "./deeds.ts"
import { a, b, c, World, type WorldOptions } from "./world.ts"

export const three: WorldOptions = { members: [a, b, c] }

/** The client steals port 80 and mirrors port 90, and everybody has answered. */
export const subscribed = (options: WorldOptions = three): World =>
  new World(options).deliver().ask(steal(80), mirror(90)).settle()
