import { didYouMean } from '../../lib/words.ts';
import { VARIABLES } from '../../variables.ts';
import { styleText } from 'node:util';
import { ConfigError, readConfig, type Config } from '../../config.ts';
import {
  checkCatalogue,
  checkFolder,
  checkOidc,
  checkOutbound,
  checkPort,
  checkProxy,
  checkPublicUrl,
  runningUrl,
} from './doctor-service.ts';
import { checkHome, checkMasterKey, checkNode, checkStore } from './doctor-store.ts';
import { findingsOf, type Finding } from './finding.ts';

/** Runs `gatehouse doctor`, with a line per finding. Returns exit code 1 when a check fails. */
export async function doctor({ json }: { json: boolean }): Promise<number> {
  const findings = await examine();
  const ok = findings.every(({ state }) => state !== 'fail');
  if (json) process.stdout.write(`${JSON.stringify({ ok, findings })}\n`);
  else for (const finding of findings) process.stdout.write(lineOf(finding));
  return ok ? 0 : 1;
}

async function examine(): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // The other checks need the configuration.
    return [
      checkNode(),
      ...error.faults.map((found) => configuration.fail(found, 'See docs/configuration.md.')),
      ...unknown(error),
    ];
  }
  const running = await runningUrl(config);
  return [
    checkNode(),
    ...checkVariables(config),
    checkHome(config),
    await checkMasterKey(config),
    ...(await checkStore(config)),
    await checkPort(config, running),
    checkPublicUrl(config, running),
    await checkCatalogue(config),
    await checkFolder(config),
    checkOutbound(config),
    ...(await checkOidc(config, running)),
    ...(await checkProxy(config)),
  ];
}

const configuration = findingsOf('configuration');

function checkVariables({ unknownVariables }: Config): Finding[] {
  if (unknownVariables.length === 0) return [configuration.ok('every variable is right')];
  return unknown({ unknownVariables });
}

function unknown({ unknownVariables }: Pick<Config, 'unknownVariables'>): Finding[] {
  const fix = 'Check its spelling against docs/configuration.md, or unset it.';
  return unknownVariables.map((variable) => {
    const question = didYouMean(variable, Object.keys(VARIABLES));
    return configuration.warn(`nothing reads ${variable}.${question}`, fix);
  });
}

const COLORS = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

function lineOf({ name, state, found, fix }: Finding): string {
  const mark = styleText(COLORS[state], state.padEnd(4), { stream: process.stdout });
  return `${mark}  ${name.padEnd(13)}  ${found}${fix ? `\n      ${' '.repeat(13)}  ${fix}` : ''}\n`;
}
