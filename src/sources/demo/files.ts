/**
 * Attachments with valid content. Code builds the attachments, so that the demo needs no binary files and no content of
 * other owners.
 */
import { crc32, deflateSync } from 'node:zlib';

export interface DemoFile {
  readonly name: string;
  readonly media_type: string;
  readonly bytes: Buffer;
  readonly disposition: 'inline' | 'attachment';
  readonly width?: number;
  readonly height?: number;
  readonly duration_ms?: number;
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(data.length);
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(crc32(body));
  return Buffer.concat([head, body, tail]);
}

export function photo(name: string, hue: number): DemoFile {
  const width = 64;
  const height = 48;
  const rows = Array.from({ length: height }, (_, y) => {
    const row = Buffer.alloc(1 + width * 3);
    for (let x = 0; x < width; x += 1) {
      const ridge = 20 + Math.abs(((x + hue) % 32) - 16);
      const colour =
        y < ridge ? [150 + (hue % 60), 190, 225] : y < ridge + 9 ? [90, 120 + (hue % 50), 85] : [70, 80, 60];
      row.set(colour, 1 + x * 3);
    }
    return row;
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const bytes = Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    pngChunk('IHDR', header),
    // With compression level 0, zlib only copies the data. So every version of zlib writes the same bytes.
    pngChunk('IDAT', deflateSync(Buffer.concat(rows), { level: 0 })),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
  return { name, media_type: 'image/png', bytes, disposition: 'inline', width, height };
}

/** Makes a PDF of one A4 page with lines in Helvetica. The lines must be ASCII. */
export function onePagePdf(name: string, lines: readonly string[]): DemoFile {
  const escaped = lines.map((line) => `(${line.replaceAll(/[\\()]/g, '\\$&')}) Tj T*`);
  const content = `BT /F1 12 Tf 72 770 Td 18 TL\n${escaped.join('\n')}\nET\n`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>',
    `<< /Length ${content.length} >>\nstream\n${content}endstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let pdf = '%PDF-1.4\n';
  // Each entry of the PDF cross-reference table must have exactly 20 bytes.
  let table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  objects.forEach((object, i) => {
    table += `${String(pdf.length).padStart(10, '0')} 00000 n \n`;
    pdf += `${i + 1} 0 obj\n${object}\nendobj\n`;
  });
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${pdf.length}\n%%EOF\n`;
  const bytes = Buffer.from(pdf + table + trailer, 'latin1');
  return { name, media_type: 'application/pdf', bytes, disposition: 'attachment' };
}

export function textFile(name: string, text: string): DemoFile {
  return { name, media_type: 'text/plain; charset=utf-8', bytes: Buffer.from(text), disposition: 'attachment' };
}

/** Makes a GPS track of about 150 KiB, so that the file API serves the track in three chunks. */
export function trackLog(name: string): DemoFile {
  const points = Array.from({ length: 3840 }, (_, i) => {
    const latitude = (45 + i * 0.000_021).toFixed(6);
    const longitude = (7 + Math.abs((i % 900) - 450) * 0.000_013).toFixed(6);
    return `${String(i).padStart(5, '0')};${latitude};${longitude};${1400 + Math.abs((i % 700) - 350)};signal ok`;
  });
  const text = `point;latitude;longitude;metres;receiver\n${points.join('\n')}\n`;
  return { name, media_type: 'text/csv', bytes: Buffer.from(text), disposition: 'attachment' };
}

export function voicemail(name: string): DemoFile {
  const samples = Buffer.from(Array.from({ length: 8000 }, (_, i) => 118 + Math.abs((i % 20) - 10)));
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(8000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(samples.length, 40);
  const bytes = Buffer.concat([header, samples]);
  return { name, media_type: 'audio/wav', bytes, disposition: 'attachment', duration_ms: 1000 };
}
