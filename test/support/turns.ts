/**
 * Lets the event loop turn so often that everything which waits for no time, file, process or network has come to rest.
 * In turns and not in milliseconds, so that it is as much on a machine that stands still in between.
 */
export const turns = (count = 200): Promise<void> =>
  new Promise((resolve) => {
    let left = count
    const turn = (): void => {
      if (left-- > 0) setImmediate(turn)
      else resolve()
    }
    turn()
  })
