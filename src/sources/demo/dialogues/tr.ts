import { type Dialogues, script, twoDigits } from './script.ts';

export const tr: Dialogues = {
  language: 'tr',
  gap: ' ',
  greetings: ['Merhaba,', 'İyi günler,', 'Günaydın,', 'İyi akşamlar,'],
  thanks: ['Harika, çok teşekkürler!', 'Yardımınız için teşekkür ederim.', 'Tamamdır, sağ olun.'],
  goodbyes: [
    'Rica ederiz, iyi yolculuklar!',
    'Ne demek, {name}. Her zaman yazabilirsiniz.',
    'Biz teşekkür ederiz, iyi günler.',
  ],
  cities: ['İzmir', 'Bursa', 'Eskişehir', 'Trabzon'],
  form: ['Ad soyad', 'E-posta', 'Nasıl yardımcı olabiliriz?'],
  date: (day, month) => `${twoDigits(day)}.${twoDigits(month)}`,
  amount: (whole, cents) => `${whole},${cents} €`,
  scripts: [
    script(
      'Delivery',
      '{order} numaralı sipariş nerede?',
      `v: {order} numaralı siparişim {date} tarihinde gelecekti ama kargo takibi günlerdir değişmiyor.
      b: Gecikme için üzgünüm. Son kayıt şu şehirden: {city}. Bir arkadaşıma ileteyim mi?
      v: Evet lütfen, cumartesi yola çıkıyoruz ve {pack} sırt çantası o pakette.
      a: Merhaba {name}, ben {agent}. Kargo şirketinde {ticket} numarasıyla araştırma başlattım.
      v: Ya zamanında bulunmazsa?
      a: O zaman perşembe günü hızlı kargoyla yenisini gönderirim, ücreti bize ait.`,
    ),
    script(
      'Refund',
      'İade ödemesi gelmedi',
      `v: {jacket} montu iki hafta önce iade ettim, {amount} hâlâ hesabıma geçmedi.
      b: İadeler bize ulaştıktan sonra beş iş günü içinde ödenir. Sipariş numaranız nedir?
      v: {order}, paket {date} tarihinde teslim edilmiş.
      a: Teşekkürler {name}. Paket kontrol edilmiş ama ödeme onaylanmamış, hata bizde.
      a: {amount} tutarını şimdi onayladım. Üç gün içinde görünür.`,
    ),
    script(
      'Sizing',
      '{shoe} için numara',
      `v: günlük ayakkabıda {size} giyiyorum. {shoe} için hangi numarayı almalıyım?
      b: Müşterilerimizin çoğu yarım numara büyük alıyor. Ölçü tablosunu göndereyim mi?
      v: Tabloya baktım, benim ayağım geniş.
      a: Merhaba {name}, o hâlde bir numara büyük öneririm.
      v: Olmazsa değiştirebilir miyim?
      a: Elbette, yalnızca evde giyildiyse 60 gün içinde değiştirebilirsiniz.`,
    ),
    script(
      'Warranty',
      '{tent} çadırının direği kırıldı',
      `v: {tent} çadırımın direği ikinci gece çatladı.
      b: Çadırlarımız beş yıl garantilidir. Fotoğraf ve sipariş numarası gönderebilir misiniz?
      v: Sipariş {order}, fotoğraf ekte.
      a: Teşekkürler {name}, bu bir malzeme hatası. Tek parça mı, tam takım mı istersiniz?
      v: Mümkünse tam takım.
      a: Tamam, {date} tarihinde yola çıkıyor. Eskileri yedek olarak saklayabilirsiniz.`,
    ),
    script(
      'Cancellation',
      '{order} iptali',
      `v: yanlış renk seçmişim, {order} kargoya verilmeden iptal edilebilir mi?
      b: Depoya {order} için bekletme talebi gönderdim, bir saniye lütfen.
      b: Paket henüz hazırlanmamıştı. Sipariş iptal edildi, kartınızdan para çekilmedi.
      v: Çok hızlıydı, yeniden sipariş veriyorum.`,
    ),
    script(
      'Login',
      'Hesabıma giremiyorum',
      `v: site şifremi kabul etmiyor, sıfırlama e-postası da gelmiyor.
      b: İstenmeyen e-posta klasörüne bakar mısınız? Gönderen noreply@larkspur.example.
      v: Orada da yok, üç kez denedim.
      a: Merhaba {name}, hesabınız eski bir adrese kayıtlı, e-postalar oraya gidiyor.
      v: O adresi artık kullanmıyorum.
      a: Size bir onay bağlantısı gönderdim. Tıkladıktan sonra yeni adres kaydedilecek.`,
    ),
  ],
};
