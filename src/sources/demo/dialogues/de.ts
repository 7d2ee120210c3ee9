import { type Dialogues, script } from './script.ts';

export const de: Dialogues = {
  language: 'de',
  gap: ' ',
  greetings: ['Guten Tag,', 'Hallo,', 'Hallo liebes Larkspur-Team,', 'Guten Morgen!', 'Moin,'],
  thanks: ['Super, vielen Dank!', 'Danke, das hat mir sehr geholfen.', 'Prima, dann weiß ich Bescheid. Danke!'],
  goodbyes: [
    'Sehr gerne! Viel Freude unterwegs.',
    'Gern geschehen, {name}. Melden Sie sich jederzeit wieder.',
    'Dafür sind wir da. Schönen Tag noch!',
  ],
  cities: ['Leipzig', 'Hannover', 'Freiburg', 'Graz', 'Kassel', 'Winterthur'],
  form: ['Name', 'E-Mail', 'Worum geht es?'],
  date: (day, month) => `${day}.${month}.`,
  amount: (whole, cents) => `${whole},${cents} €`,
  scripts: [
    script(
      'Delivery',
      'Bestellung {order} noch nicht angekommen',
      `v: meine Bestellung {order} sollte am {date} da sein. Die Sendungsverfolgung steht seit Tagen still.
      b: Das tut mir leid. Der letzte Scan stammt aus {city}. Soll ich eine Kollegin bitten, beim Paketdienst nachzufragen?
      v: Ja bitte, wir fahren am Wochenende los und ich brauche den {pack}.
      a: Guten Tag {name}, hier ist {agent}. Ich habe unter {ticket} einen Nachforschungsauftrag gestellt.
      v: Und wenn das Paket bis Freitag nicht auftaucht?
      a: Dann schicke ich Ihnen am Donnerstagmittag Ersatz per Express. Kosten entstehen Ihnen keine.`,
    ),
    script(
      'Refund',
      'Erstattung für {order}',
      `v: ich habe die Jacke {jacket} vor zwei Wochen zurückgeschickt, die {amount} fehlen aber immer noch.
      b: Erstattungen dauern nach Eingang höchstens fünf Werktage. Wie lautet die Bestellnummer?
      v: {order}, zugestellt am {date}
      a: Danke, {name}. Das Paket liegt geprüft im Lager, nur die Freigabe wurde vergessen. Das war unser Fehler.
      a: Ich habe {amount} soeben angewiesen. Bitte rechnen Sie mit zwei bis drei Banktagen.
      v: Bekomme ich dazu eine Gutschrift für die Buchhaltung?
      a: Ja, sie kommt gleich per E-Mail.`,
    ),
    script(
      'Sizing',
      'Größe bei {shoe}',
      `v: fällt der Schuh {shoe} eher klein aus? In normalen Schuhen habe ich {size}.
      b: Die meisten nehmen ihn eine halbe Nummer größer. Möchten Sie die Messtabelle sehen?
      v: Die kenne ich. Mir geht es um den Rist, der ist bei mir recht hoch.
      a: Hallo {name}, dann würde ich eine ganze Nummer größer nehmen und die oberen Haken auslassen.
      v: Und wenn er doch nicht passt?
      a: Sie haben 60 Tage Zeit, ihn ungetragen zurückzuschicken. Das Rücksendeetikett liegt bei.`,
    ),
    script(
      'Warranty',
      'Reißverschluss am Zelt defekt',
      `v: am Zelt {tent} ist nach einer Saison der Reißverschluss ausgerissen. Ist das ein Garantiefall?
      b: Auf Zelte geben wir fünf Jahre Garantie. Bitte schicken Sie uns ein Foto und die Bestellnummer.
      v: {order}. Das Foto hängt an.
      a: Danke, {name}. Die Naht war nicht sauber gesetzt, das übernehmen wir. Reparatur oder Austausch?
      v: Lieber eine Reparatur, das Zelt ist sonst tadellos.
      a: Sehr schön. Das Etikett ist unterwegs, in etwa zwei Wochen haben Sie das Zelt zurück.`,
    ),
    script(
      'Invoice',
      'Rechnung auf die Firma umschreiben',
      `v: ich brauche die Rechnung zu {order} auf unsere Firma ausgestellt, mit Umsatzsteuer-ID.
      b: Innerhalb von 30 Tagen geht das im Kundenkonto unter „Bestellungen“. Ist der Kauf schon länger her?
      v: Leider ja, der Knopf ist ausgegraut.
      a: Kein Problem, {name}. Wie lauten Firmierung und Anschrift genau?
      v: Wanderwerk Nord GmbH, die Daten stehen im angehängten Dokument.
      a: Die berichtigte Rechnung über {amount} ist in Ihrem Postfach, die alte ist storniert.`,
    ),
    script(
      'Login',
      'Passwort lässt sich nicht zurücksetzen',
      `v: ich komme nicht mehr in mein Konto und die Mail zum Zurücksetzen kommt nicht an.
      b: Schauen Sie bitte einmal in den Spam-Ordner, der Absender ist noreply@larkspur.example.
      v: Da ist nichts, ich habe es dreimal versucht.
      a: Hallo {name}, Ihr Konto läuft noch auf eine frühere Adresse. Dorthin gehen die Mails.
      v: Ach so, dieses Postfach gibt es gar nicht mehr.
      a: Ich habe Ihnen einen Bestätigungslink geschickt. Danach ist die neue Adresse hinterlegt.`,
    ),
    script(
      'Exchange',
      'Umtausch {jacket}',
      `v: die Jacke {jacket} ist mir zu weit. Kann ich sie gegen eine Nummer kleiner tauschen? Bestellung {order}.
      b: Gerne, der Umtausch ist 60 Tage lang kostenlos. Soll die Farbe gleich bleiben?
      v: Ja, wieder Schieferblau.
      b: Schieferblau ist in der kleineren Größe da. Ich habe ein Stück reserviert und das Etikett verschickt.
      v: Wird erst verschickt, wenn meine Rücksendung bei Ihnen ist?
      a: Nein, {name}, die neue Jacke geht heute raus. Für die Rücksendung haben Sie 14 Tage Zeit.`,
    ),
    script(
      'Address change',
      'Falsche Hausnummer bei {order}',
      `v: mir ist aufgefallen, dass ich bei {order} die falsche Hausnummer angegeben habe.
      b: Solange das Paket nicht verladen ist, lässt sich das ändern. Wie lautet die richtige Anschrift?
      v: Lindenweg 14 in {city}, statt 41.
      a: Erledigt, {name}. Das Etikett wurde neu gedruckt, die Zustellung bleibt beim {date}`,
    ),
  ],
};
