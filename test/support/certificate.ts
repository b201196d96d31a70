import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate extends Disposable {
  cert: string;
  key: string;
  /** The certificate as a file, for GATEHOUSE_CA_FILE. */
  file: string;
}

/** Makes a self-signed certificate for 127.0.0.1 with openssl. */
export function makeCertificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-certificate-'));
  const [key, file] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync(
    'openssl',
    ['req', '-x509', ...curve, '-days', '2', ...subject, '-keyout', key, '-out', file],
    {
      stdio: 'pipe',
    },
  );
  return {
    cert: readFileSync(file, 'utf8'),
    key: readFileSync(key, 'utf8'),
    file,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
