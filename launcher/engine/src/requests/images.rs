//! Images of random pixels, generated before the load.
//!
//! Encoding an image takes milliseconds, which would delay sends. A load that needs more images than are generated in advance reuses them
//! in the same order.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rand::{Rng as _, RngExt as _};
use workload_profiles::workload::{ImageEncoding, ImagePlace, ImageSize, Images, PromptReuse};

use super::{
    Draft, RequestsError, Seeds, draws,
    lengths::{LengthDraws, Sampler},
};
use crate::image::Image;

/// Maximum total size of all images in base64, in bytes. At least one image is generated, even if it is larger.
const MAX_BYTES: usize = 256 << 20;
/// Maximum number of images.
const MAX_IMAGES: u64 = 4_096;
/// The usual default quality of JPEG libraries.
const JPEG_QUALITY: u8 = 75;

/// The images of a load.
#[derive(Debug)]
pub(super) struct ImagePool {
    images: Vec<Arc<Image>>,
    per_request: LengthDraws,
    /// Maximum number of images per request.
    most: u64,
    place: ImagePlace,
    places: crds::units::Seed,
    is_of_group: bool,
    /// Number of requests before each stage. Empty if all stages use the same images.
    before: Vec<u64>,
}

impl ImagePool {
    /// Generates the images. `counts` is the number of requests per stage; 0 if it is unknown before the load.
    ///
    /// # Errors
    /// There is no image size, or an image cannot be encoded.
    pub(super) fn new(
        images: &Images,
        seeds: Seeds<'_>,
        prompts: PromptReuse,
        counts: &[u64],
    ) -> Result<ImagePool, RequestsError> {
        let most = u64::from(images.per_request.max.max(1));
        let mut before = Vec::with_capacity(counts.len());
        let mut sum = 0_u64;
        for count in counts {
            before.push(sum);
            sum = sum.saturating_add(*count);
        }
        let wanted = if counts.contains(&0) { MAX_IMAGES } else { sum.saturating_mul(most).clamp(1, MAX_IMAGES) };
        let name = "requests/images";
        let pixels = match prompts {
            PromptReuse::Fresh => seeds.salted(name),
            PromptReuse::PerStage | PromptReuse::Repeated => seeds.run.derive(name),
        };
        let mut made = Vec::new();
        let mut bytes = 0;
        for number in 0..wanted {
            let image = make(&images.sizes, images.encoding, &mut draws(pixels, number))?;
            bytes += image.base64.len();
            if bytes > MAX_BYTES && number > 0 {
                break;
            }
            made.push(Arc::new(image));
        }
        Ok(ImagePool {
            images: made,
            per_request: LengthDraws::new(
                &images.per_request,
                Sampler::Plain,
                seeds.run.derive("requests/image-counts"),
            ),
            most,
            place: images.place,
            places: seeds.run.derive("requests/image-places"),
            is_of_group: images.shared_by_group,
            before: if prompts == PromptReuse::Repeated { Vec::new() } else { before },
        })
    }

    /// Adds the images of a request to `draft`. `group` is the index of the request's shared prefix; `None` if it has none.
    pub(super) fn add(&self, stage: usize, number: u64, group: Option<u32>, draft: &mut Draft) {
        let of_group = group.filter(|_| self.is_of_group).map(u64::from);
        let before = self.before.get(stage).copied().unwrap_or_default();
        // A group of requests with a shared prefix has the same images in all stages.
        let place = of_group.unwrap_or_else(|| number.saturating_add(before));
        let key = of_group.unwrap_or(number);
        let first = place.wrapping_mul(self.most);
        for image in 0..u64::from(self.per_request.get(key)) {
            let index = first.wrapping_add(image) % self.images.len() as u64;
            draft.images.push(Arc::clone(&self.images[usize::try_from(index).unwrap_or(0)]));
        }
        draft.images_last = match self.place {
            ImagePlace::BeforeText => false,
            ImagePlace::AfterText => true,
            ImagePlace::Random => draws(self.places, number).random(),
        };
    }
}

/// Generates an image of random pixels, in one of the sizes.
fn make(
    sizes: &[ImageSize],
    encoding: ImageEncoding,
    rng: &mut rand_chacha::ChaCha8Rng,
) -> Result<Image, RequestsError> {
    let all: f64 = sizes.iter().map(|it| it.weight).sum();
    let mut drawn = rng.random::<f64>() * all;
    let size = sizes.iter().find(|it| {
        drawn -= it.weight;
        drawn < 0.0
    });
    let ImageSize { width, height, .. } = *size.or(sizes.last()).ok_or(RequestsError::NoImageSize)?;
    let mut pixels = vec![0; width as usize * height as usize * 3];
    rng.fill_bytes(&mut pixels);
    let failed = |cause: String| RequestsError::Image { width, height, cause };
    let (media_type, file) = match encoding {
        ImageEncoding::Png => ("image/png", png_file(&pixels, width, height).map_err(|it| failed(it.to_string()))?),
        ImageEncoding::Jpeg => ("image/jpeg", jpeg_file(&pixels, width, height).map_err(failed)?),
    };
    Ok(Image { media_type, base64: STANDARD.encode(&file).into() })
}

/// Encodes RGB pixels as a PNG file, without compression: random pixels cannot be compressed.
fn png_file(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::with_capacity(pixels.len() + 1_024);
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::NoCompression);
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

/// Encodes RGB pixels as a JPEG file.
fn jpeg_file(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, String> {
    let side = |it: u32| u16::try_from(it).map_err(|_| format!("a side of a JPEG has at most {} pixels", u16::MAX));
    let mut file = Vec::with_capacity(pixels.len());
    let encoder = jpeg_encoder::Encoder::new(&mut file, JPEG_QUALITY);
    let (width, height) = (side(width)?, side(height)?);
    encoder.encode(pixels, width, height, jpeg_encoder::ColorType::Rgb).map_err(|it| it.to_string())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, io::Cursor};

    use crds::units::Seed;
    use workload_profiles::workload::LengthDistribution;

    use super::*;

    fn images(encoding: ImageEncoding) -> Images {
        let size = |width, height, weight| ImageSize { width, height, weight };
        Images {
            per_request: LengthDistribution::uniform(1, 3),
            sizes: vec![size(40, 20, 3.0), size(16, 16, 1.0)],
            encoding,
            place: ImagePlace::Random,
            shared_by_group: true,
        }
    }

    fn check(encoding: ImageEncoding, prompts: PromptReuse, salt: &str, counts: &[u64]) -> ImagePool {
        let seeds = Seeds { run: Seed(1), prompt_salt: salt };
        ImagePool::new(&images(encoding), seeds, prompts, counts).unwrap()
    }

    /// Returns the images of a request.
    fn images_of(pool: &ImagePool, stage: usize, number: u64, group: Option<u32>) -> Vec<Arc<Image>> {
        let mut draft = Draft::default();
        pool.add(stage, number, group, &mut draft);
        draft.images
    }

    /// Decodes a whole file. Returns its width and height.
    fn decoded(encoding: ImageEncoding, file: &[u8]) -> (usize, usize) {
        let (pixels, (width, height)) = match encoding {
            ImageEncoding::Png => {
                let mut reader = png::Decoder::new(Cursor::new(file)).read_info().unwrap();
                let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
                let frame = reader.next_frame(&mut pixels).unwrap();
                (pixels, (frame.width as usize, frame.height as usize))
            }
            ImageEncoding::Jpeg => {
                let mut decoder = zune_jpeg::JpegDecoder::new(Cursor::new(file));
                (decoder.decode().unwrap(), decoder.dimensions().unwrap())
            }
        };
        assert_eq!(pixels.len(), width * height * 3);
        (width, height)
    }

    #[test]
    fn images_are_files_of_the_drawn_sizes() {
        for (encoding, media_type) in [(ImageEncoding::Png, "image/png"), (ImageEncoding::Jpeg, "image/jpeg")] {
            let pool = check(encoding, PromptReuse::Fresh, "a", &[40]);
            let mut sizes = BTreeSet::new();
            for image in &pool.images {
                let file = STANDARD.decode(image.base64.as_bytes()).unwrap();
                assert_eq!(image.media_type, media_type);
                sizes.insert(decoded(encoding, &file));
            }
            assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [(16, 16), (40, 20)]);
        }
    }

    #[test]
    fn requests_have_their_own_images_and_groups_share_theirs() {
        let pool = check(ImageEncoding::Png, PromptReuse::Fresh, "a", &[50, 50]);
        assert_eq!(pool.images.len(), 300);
        let mut seen = BTreeSet::new();
        let mut all = 0;
        for (stage, number) in (0..2).flat_map(|stage| (0..50).map(move |number| (stage, number))) {
            let images = images_of(&pool, stage, number, None);
            assert!((1..=3).contains(&images.len()));
            all += images.len();
            seen.extend(images.into_iter().map(|it| it.base64.clone()));
        }
        assert_eq!(seen.len(), all);
        assert_eq!(images_of(&pool, 0, 3, Some(7)), images_of(&pool, 1, 44, Some(7)));
        assert_ne!(images_of(&pool, 0, 3, Some(7)), images_of(&pool, 0, 3, Some(8)));
        let last = |number| {
            let mut draft = Draft::default();
            pool.add(0, number, None, &mut draft);
            draft.images_last
        };
        assert_eq!((0..50).map(last).collect::<BTreeSet<_>>().len(), 2);
    }

    #[test]
    fn images_repeat_as_the_texts_do() {
        let first =
            |prompts, salt, stage| images_of(&check(ImageEncoding::Png, prompts, salt, &[5, 5]), stage, 2, None);
        for (prompts, of_stages, of_runs) in [
            (PromptReuse::Fresh, false, false),
            (PromptReuse::PerStage, false, true),
            (PromptReuse::Repeated, true, true),
        ] {
            assert_eq!(first(prompts, "a", 0) == first(prompts, "a", 1), of_stages, "{prompts:?}");
            assert_eq!(first(prompts, "a", 0) == first(prompts, "b", 0), of_runs, "{prompts:?}");
        }
    }

    #[test]
    fn images_without_a_size_are_refused() {
        let none = Images { sizes: Vec::new(), ..images(ImageEncoding::Png) };
        let error = ImagePool::new(&none, Seed(1).into(), PromptReuse::Fresh, &[1]).unwrap_err();
        assert_eq!(error.to_string(), "images have no size; give at least one");
    }
}
