// One `kvern serve` process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const kStartMs = 60_000;

/** Starts a server on a free port and waits until it serves. */
export async function startServer({ kvern, model, serverFlags }) {
  const child = spawn(kvern, ['serve', '-m', model, '--alias', 'kvern-tiny', '--alias', 'gpt-alias', '--port', '0', ...serverFlags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  let running = true;
  child.once('exit', () => {
    running = false;
  });
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the server does not start:\n${log}`)), kStartMs);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${log}`)));
    child.stderr.setEncoding('utf8').on('data', (text) => {
      log += text;
      const address = /listening on (http:\/\/\S+)/.exec(log);
      if (address === null || !/serving .* as /.test(log)) return;
      clearTimeout(timer);
      resolve(address[1]);
    });
  });
  return {
    url,
    alive: () => running,
    log: () => log,
    /** The exit code after SIGTERM. */
    async stop() {
      if (!running) return child.exitCode ?? -1;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const [code] = await ended;
      return code;
    },
  };
}
