/** The parts of a channel that a guard around the channel leaves as they are. */

import type { FrameChannel } from "../../ports/frame-channel.ts"

/** All of a channel but sending and delivery, in which guards differ. */
export const passedOn = (channel: FrameChannel): Omit<FrameChannel, "open" | "send"> => ({
  direct: channel.direct ?? channel,
  acknowledge: () => channel.acknowledge?.(),
  queuedBytes: () => channel.queuedBytes(),
  waitsForRoom: () => channel.waitsForRoom?.() === true,
  pause: () => channel.pause(),
  resume: () => channel.resume(),
  close: () => channel.close()
})
